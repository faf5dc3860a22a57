-- End the wait of jobs; returns those that waited until now.
UPDATE waits SET ended_at = :now, due = 0
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND ended_at IS NULL
RETURNING job_id
