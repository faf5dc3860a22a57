-- Tasks that wait or run, by pipeline. The oldest ready one is looked for among those that neither a pause nor a limit keeps waiting. Three partial indexes answer it, each as large as what it counts.
SELECT coalesce(p.name, '#' || j.pipeline_id) AS pipeline, queue.kind, count(*) AS tasks, min(queue.since) AS ready_at
FROM (
    SELECT job_id, 'ready' AS kind, CASE WHEN abs(lane) < 268435456 THEN ready_at END AS since FROM tasks WHERE status = 'ready'
    UNION ALL
    SELECT job_id, 'running', NULL FROM tasks WHERE status = 'running'
    UNION ALL
    SELECT job_id, 'waiting', NULL FROM tasks WHERE run_after IS NOT NULL
) AS queue
JOIN jobs AS j ON j.id = queue.job_id
LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE :owner IS NULL OR j.user_id = :owner
GROUP BY 1, queue.kind ORDER BY 1, queue.kind
