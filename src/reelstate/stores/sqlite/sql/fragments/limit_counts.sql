SELECT k.id, coalesce(held.tasks, 0) + coalesce(ended.tasks, 0) AS tasks
FROM limit_keys AS k
LEFT JOIN (
    SELECT part.value AS key, count(*) AS tasks
    FROM tasks AS t CROSS JOIN limit_queues AS q ON q.id = t.queue CROSS JOIN json_each(q.keys) AS part
    WHERE t.queue IS NOT NULL AND (t.status = 'running' OR t.status = 'ready' AND abs(t.lane) < 268435456)
    GROUP BY part.value
) AS held ON held.key = k.id
LEFT JOIN (
    SELECT part.value AS key, count(*) AS tasks
    FROM limit_ended AS e CROSS JOIN limit_queues AS q ON q.id = e.queue CROSS JOIN json_each(q.keys) AS part
    GROUP BY part.value
) AS ended ON ended.key = k.id
