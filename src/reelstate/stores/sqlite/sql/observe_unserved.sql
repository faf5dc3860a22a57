-- The needs of ready tasks of a job, by stage, that no active worker of the pipeline meets.
SELECT DISTINCT t.stage, l.needs
FROM tasks AS t JOIN lanes AS l ON l.id = abs(t.lane)
WHERE t.job_id = :job_id AND t.status = 'ready' AND l.needs <> '[]'
  AND NOT EXISTS (SELECT 1 FROM workers AS w JOIN worker_names AS n ON n.name = w.name
      WHERE w.status = 'active' AND n.enabled AND l.pipeline IN (SELECT value FROM json_each(w.pipelines))
        AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                        WHERE needed.value NOT IN (SELECT value FROM json_each(w.capabilities))))
ORDER BY t.stage, l.needs
