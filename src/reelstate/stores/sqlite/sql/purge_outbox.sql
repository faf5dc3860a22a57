-- Delete the callbacks, deliveries and alerts of a user, while their jobs and webhooks are there.
-- Differs from PostgreSQL: a CTE can't write, so these are several statements.
DELETE FROM callbacks
WHERE job_id IN (SELECT id FROM jobs WHERE user_id = :user_id)
   OR webhook_id IN (SELECT id FROM webhooks WHERE user_id = :user_id);
DELETE FROM alerts WHERE job_id IN (SELECT id FROM jobs WHERE user_id = :user_id);
DELETE FROM delivery_attempts WHERE delivery_id IN (
    SELECT d.id FROM deliveries AS d
    WHERE json_extract(d.data, '$.user_id') = :user_id OR d.job_id IN (SELECT id FROM jobs WHERE user_id = :user_id)
       OR d.webhook_id IN (SELECT id FROM webhooks WHERE user_id = :user_id));
DELETE FROM deliveries
WHERE json_extract(data, '$.user_id') = :user_id OR job_id IN (SELECT id FROM jobs WHERE user_id = :user_id)
   OR webhook_id IN (SELECT id FROM webhooks WHERE user_id = :user_id);
SELECT changes() AS rows
