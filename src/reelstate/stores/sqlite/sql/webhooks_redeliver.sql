-- The schedule of attempts starts again, under the same id. One that a sender holds is left to it.
UPDATE deliveries SET status = 'pending', attempt = 0, next_at = :now, finished_at = NULL
WHERE id = :id AND webhook_id = :webhook_id AND NOT leased
  AND EXISTS (SELECT 1 FROM webhooks AS w WHERE w.id = deliveries.webhook_id AND (:owner IS NULL OR w.user_id = :owner))
RETURNING id
