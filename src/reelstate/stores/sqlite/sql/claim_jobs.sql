-- The jobs of claimed tasks. A job leaves `pending` with its first claim.
-- Differs from PostgreSQL: a CTE can't write, so these are two statements. `claim` begins the job of a sole task.
UPDATE jobs
SET status = phase, started_at = coalesce(started_at, :now), version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
WHERE id IN (SELECT value FROM json_each(:job_ids)) AND status = 'pending';
SELECT id, pipeline_id, spec, status,
       CASE WHEN changed_at = :now AND actor = 'worker'
              AND NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.job_id = jobs.id AND t.stage = 0 AND t.part = 0 AND t.sole)
            THEN status END AS begun,
       trace
FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids))
