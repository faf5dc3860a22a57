-- The jobs of groups of a name.
SELECT j.id FROM groups AS g INDEXED BY groups_by_name
CROSS JOIN group_jobs AS m ON m.group_id = g.id
CROSS JOIN jobs AS j ON j.id = m.job_id
WHERE g.name = :group AND (:user_id IS NULL OR g.user_id = :user_id)
  AND j.status IN (SELECT value FROM json_each(:statuses)) AND j.status <> 'completed'
  AND (:pipeline IS NULL OR j.pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline))
ORDER BY j.id LIMIT :limit
