-- The callback row of a user stays: the jobs with callbacks refer to it.
DELETE FROM delivery_attempts WHERE delivery_id IN (
    SELECT d.id FROM deliveries AS d JOIN webhooks AS w ON w.id = d.webhook_id
    WHERE w.id = :id AND w.kind = 'webhook' AND (:owner IS NULL OR w.user_id = :owner));

DELETE FROM deliveries WHERE webhook_id IN (
    SELECT id FROM webhooks WHERE id = :id AND kind = 'webhook' AND (:owner IS NULL OR user_id = :owner));

DELETE FROM webhooks WHERE id = :id AND kind = 'webhook' AND (:owner IS NULL OR user_id = :owner)
RETURNING id
