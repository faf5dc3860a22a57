-- The jobs of claimed tasks. A job leaves `pending` with its first claim.
-- Differs from PostgreSQL: a CTE can't write, so these are two statements.
UPDATE jobs
SET status = phase, started_at = coalesce(started_at, :now), version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
WHERE id IN (SELECT value FROM json_each(:job_ids)) AND status = 'pending';
SELECT id, pipeline_id, spec, status FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids))
