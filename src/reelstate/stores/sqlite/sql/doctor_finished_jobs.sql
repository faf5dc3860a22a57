SELECT id AS job_id, -1 AS stage, -1 AS part, status,
       status || CASE WHEN finished_at IS NULL THEN ', but it never finished' ELSE ', but it has finished' END AS detail
FROM jobs
WHERE inconsistent IS NULL
  AND (finished_at IS NOT NULL) <> (status IN ('completed', 'failed', 'quarantined', 'cancelled'))
ORDER BY id LIMIT :limit
