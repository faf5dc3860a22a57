SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'pipeline ' || j.pipeline_id || ' is not stored' AS detail
FROM reelstate.jobs j
WHERE j.status <> 'quarantined' AND j.inconsistent IS NULL
  AND NOT EXISTS (SELECT FROM reelstate.pipelines p WHERE p.id = j.pipeline_id)
ORDER BY j.id LIMIT %(limit)s
