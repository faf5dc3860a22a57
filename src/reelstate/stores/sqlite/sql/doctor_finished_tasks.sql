SELECT job_id, stage, part, status,
       status || CASE WHEN finished_at IS NULL THEN ', but it never finished' ELSE ', but it has finished' END AS detail
FROM tasks
WHERE (finished_at IS NOT NULL)
    <> (status IN ('done', 'skipped', 'cancelled') OR status = 'error' AND run_after IS NULL)
   OR status = 'ready' AND (ready_at IS NULL OR run_after IS NOT NULL)
ORDER BY job_id, stage, part LIMIT :limit
