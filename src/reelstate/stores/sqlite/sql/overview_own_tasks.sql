-- The ready and running tasks of a user by pipeline: its running ones, and those among the first ready ones up to a limit.
SELECT coalesce(p.name, '#' || j.pipeline_id) AS pipeline, queue.kind, count(*) AS tasks
FROM (
    SELECT * FROM (SELECT job_id, 'ready' AS kind FROM tasks INDEXED BY tasks_ready WHERE status = 'ready' LIMIT :limit)
    UNION ALL
    SELECT * FROM (SELECT job_id, 'running' FROM tasks INDEXED BY tasks_running WHERE status = 'running' LIMIT :limit)
) AS queue
CROSS JOIN jobs AS j ON j.id = queue.job_id
LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE j.user_id = :owner
GROUP BY 1, queue.kind ORDER BY 1, queue.kind
