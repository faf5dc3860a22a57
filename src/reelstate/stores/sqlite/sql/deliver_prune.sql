-- Old deliveries, also pending ones of disabled webhooks; and the callbacks of jobs that are gone, and
-- alerts of the week before.
DELETE FROM alerts WHERE at < :now - 604800;

DELETE FROM callbacks
WHERE created_at < :now - :older AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = callbacks.job_id);

DELETE FROM delivery_attempts WHERE delivery_id IN (
    SELECT id FROM deliveries WHERE created_at < :now - :older AND NOT leased ORDER BY created_at LIMIT :limit);

DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE created_at < :now - :older AND NOT leased ORDER BY created_at LIMIT :limit)
RETURNING id
