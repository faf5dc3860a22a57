-- The ready and running tasks of a user by pipeline: its running ones, and those among the first ready ones up to a limit.
SELECT coalesce(p.name, '#' || j.pipeline_id) AS pipeline, queue.kind, count(*) AS tasks
FROM (
    (SELECT job_id, 'ready' AS kind FROM reelstate.tasks WHERE status = 'ready' LIMIT %(limit)s)
    UNION ALL
    (SELECT job_id, 'running' FROM reelstate.tasks WHERE worker_id IS NOT NULL LIMIT %(limit)s)
) AS queue
JOIN reelstate.jobs j ON j.id = queue.job_id
LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.user_id = %(owner)s
GROUP BY 1, queue.kind ORDER BY 1, queue.kind
