-- Raise the versions of jobs, and change nothing else of them.
UPDATE jobs
SET version = version + 1, actor = 'doctor', reason = :reason, changed_at = :now
WHERE id IN (SELECT value FROM json_each(:job_ids))
RETURNING id, version, status
