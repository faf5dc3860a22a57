SELECT j.id, p.name, p.digest, j.user_id, j.status, j.phase, j.priority, j.spec, j.run_after, j.error, j.degraded,
       j.suspect, j.version, j.actor, j.reason, j.created_at, j.started_at, j.changed_at, j.finished_at
FROM jobs AS j JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE j.id < :before
  AND (:statuses IS NULL OR j.status IN (SELECT value FROM json_each(:statuses)))
  AND (:pipeline IS NULL OR p.name = :pipeline)
  AND (:user_id IS NULL OR j.user_id = :user_id)
ORDER BY j.id DESC LIMIT :limit
