-- The job becomes a tombstone; its states go with it.
DELETE FROM states WHERE job_id IN (SELECT value FROM json_each(:job_ids));
DELETE FROM state_log WHERE job_id IN (SELECT value FROM json_each(:job_ids));
UPDATE state_jobs SET deleted_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND deleted_at IS NULL
RETURNING job_id
