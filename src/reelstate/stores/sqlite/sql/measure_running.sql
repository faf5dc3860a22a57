-- Leased tasks by lane; all together they are counted up to a limit.
SELECT l.pipeline, l.needs, count(*) AS tasks
FROM (SELECT lane FROM tasks INDEXED BY tasks_running WHERE status = 'running' LIMIT :limit) AS t
JOIN lanes AS l ON l.id = abs(t.lane)
GROUP BY l.pipeline, l.needs
