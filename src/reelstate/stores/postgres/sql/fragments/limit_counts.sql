SELECT k.id, coalesce(held.tasks, 0) + coalesce(ended.tasks, 0) AS tasks
FROM reelstate.limit_keys k
LEFT JOIN (
    SELECT part.key, count(*)::integer AS tasks
    FROM reelstate.tasks t JOIN reelstate.limit_queues q ON q.id = t.queue CROSS JOIN unnest(q.keys) AS part (key)
    WHERE t.queue IS NOT NULL AND (t.status = 'running' OR t.status = 'ready' AND abs(t.lane) < 268435456)
    GROUP BY part.key
) AS held ON held.key = k.id
LEFT JOIN (
    SELECT part.key, count(*)::integer AS tasks
    FROM reelstate.limit_ended e JOIN reelstate.limit_queues q ON q.id = e.queue CROSS JOIN unnest(q.keys) AS part (key)
    GROUP BY part.key
) AS ended ON ended.key = k.id
