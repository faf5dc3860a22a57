SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'pipeline ' || j.pipeline_id || ' is not stored' AS detail
FROM jobs AS j
WHERE j.status <> 'quarantined' AND j.inconsistent IS NULL
  AND NOT EXISTS (SELECT 1 FROM pipelines AS p WHERE p.id = j.pipeline_id)
ORDER BY j.id LIMIT :limit
