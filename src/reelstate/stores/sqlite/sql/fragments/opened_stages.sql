(
    SELECT job_id, stage, open, sole, version, total, done, skipped, failed, opened_at FROM stages
    UNION ALL
    SELECT t.job_id, t.stage, 1, 1, 1, 1, CASE WHEN t.status = 'done' THEN 1 ELSE 0 END,
           CASE WHEN t.status = 'skipped' THEN 1 ELSE 0 END,
           CASE WHEN t.status = 'error' AND t.run_after IS NULL THEN 1 ELSE 0 END,
           (SELECT j.created_at FROM jobs AS j WHERE j.id = t.job_id)
    FROM tasks AS t WHERE t.sole
)
