-- The running tasks of a target.
SELECT t.job_id, t.stage, t.part, t.token
FROM tasks AS t
JOIN jobs AS j ON j.id = t.job_id
LEFT JOIN pipelines AS v ON v.id = j.pipeline_id
LEFT JOIN workers AS w ON w.id = t.worker_id
WHERE t.status = 'running'
  AND CASE :scope WHEN 'all' THEN true
      WHEN 'pipeline' THEN v.name = :name
      WHEN 'stage' THEN v.name = :name AND json_extract(v.graph, '$.stages[' || t.stage || '].name') = :stage
      WHEN 'user' THEN j.user_id = :name
      ELSE w.name = :name END
ORDER BY t.job_id, t.stage, t.part
