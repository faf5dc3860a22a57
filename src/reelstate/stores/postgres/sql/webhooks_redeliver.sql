-- The schedule of attempts starts again, under the same id. One that a sender holds is left to it.
UPDATE reelstate.deliveries d SET status = 'pending', attempt = 0, next_at = clock.now, finished_at = NULL
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, reelstate.webhooks w
WHERE d.id = %(id)s AND d.webhook_id = %(webhook_id)s AND w.id = d.webhook_id AND NOT d.leased
  AND (%(owner)s::text IS NULL OR w.user_id = %(owner)s)
RETURNING d.id
