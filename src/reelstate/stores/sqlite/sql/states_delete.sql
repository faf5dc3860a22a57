-- The job becomes a tombstone; its states are deleted. Older cursors are recognised by `floor_id` in the feed of the job,
-- by the fact `floor` in the feed of the engine.
INSERT INTO facts (name, value)
SELECT 'floor', '0.' || max(id) FROM state_log WHERE job_id IN (SELECT value FROM json_each(:job_ids))
HAVING max(id) IS NOT NULL
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE CAST(substr(excluded.value, 3) AS INTEGER) > CAST(substr(facts.value, 3) AS INTEGER);
DELETE FROM states WHERE job_id IN (SELECT value FROM json_each(:job_ids));
DELETE FROM state_log WHERE job_id IN (SELECT value FROM json_each(:job_ids));
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'events';
UPDATE state_jobs SET deleted_at = :now, floor_id = (SELECT seq FROM sqlite_sequence WHERE name = 'events')
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND deleted_at IS NULL
RETURNING job_id
