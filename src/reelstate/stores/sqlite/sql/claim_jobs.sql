-- A job leaves `pending` with its first claim.
UPDATE jobs
SET status = phase, started_at = coalesce(started_at, :now), version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
WHERE id IN (SELECT value FROM json_each(:job_ids)) AND status = 'pending'
