-- The ready tasks that these workers would claim before a task, up to `cap`: those before it in the order of claims, in
-- each lane that one of them serves, or for an isolated task in the lanes of isolated tasks.
WITH served AS MATERIALIZED (
    SELECT CASE WHEN :isolated THEN -l.id ELSE l.id END AS lane
    FROM lanes AS l
    WHERE EXISTS (SELECT 1 FROM json_each(:workers) AS wanted CROSS JOIN workers AS w ON w.id = wanted.value
                  WHERE l.pipeline IN (SELECT value FROM json_each(w.pipelines))
                    AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                                    WHERE needed.value NOT IN (SELECT value FROM json_each(w.capabilities))))
      AND l.pipeline NOT IN (SELECT name FROM pauses WHERE resumed_at IS NULL AND scope = 'pipeline')
)
SELECT count(*) AS tasks
FROM (
    SELECT 1 FROM served CROSS JOIN tasks AS t INDEXED BY tasks_ready
        ON t.lane = served.lane AND t.status = 'ready' AND t.priority > :priority
    UNION ALL
    SELECT 1 FROM served CROSS JOIN tasks AS t INDEXED BY tasks_ready
        ON t.lane = served.lane AND t.status = 'ready' AND t.priority = :priority
       AND (t.job_id, t.stage, t.part) < (:job_id, :stage, :part)
    LIMIT :cap
)
