-- The running tasks of a target.
SELECT t.job_id, t.stage, t.part, t.token
FROM reelstate.tasks t
JOIN reelstate.jobs j ON j.id = t.job_id
LEFT JOIN reelstate.pipelines v ON v.id = j.pipeline_id
LEFT JOIN reelstate.workers w ON w.id = t.worker_id
WHERE t.worker_id IS NOT NULL AND t.status = 'running'
  AND CASE %(scope)s::text WHEN 'all' THEN true
      WHEN 'pipeline' THEN v.name = %(name)s
      WHEN 'stage' THEN v.name = %(name)s AND v.graph -> 'stages' -> t.stage::integer ->> 'name' = %(stage)s
      WHEN 'user' THEN j.user_id = %(name)s
      ELSE w.name = %(name)s END
ORDER BY t.job_id, t.stage, t.part
