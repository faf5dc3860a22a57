-- Leased tasks by lane; all together they are counted up to a limit.
SELECT l.pipeline, l.needs, count(*) AS tasks
FROM (SELECT lane FROM reelstate.tasks WHERE worker_id IS NOT NULL LIMIT %(limit)s) AS t
JOIN reelstate.lanes l ON l.id = abs(t.lane)
GROUP BY l.pipeline, l.needs
