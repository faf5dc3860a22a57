SELECT j.id FROM jobs AS j INDEXED BY jobs_by_status
WHERE j.status IN (SELECT value FROM json_each(:statuses)) AND j.status <> 'completed'
  AND (:user_id IS NULL OR j.user_id = :user_id)
  AND (:pipeline IS NULL OR j.pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline))
ORDER BY j.id LIMIT :limit
