-- Set whether the keeper must look at waiting jobs.
UPDATE waits SET due = :due WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND ended_at IS NULL AND due <> :due
