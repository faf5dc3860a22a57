-- What jobs that may still run read their source from: what their fetch came to, or has said that it will.
SELECT DISTINCT said.source
FROM reelstate.jobs j
JOIN reelstate.pipelines p ON p.id = j.pipeline_id AND p.name = %(pipeline)s
JOIN reelstate.tasks t ON t.job_id = j.id AND t.part = 0
CROSS JOIN LATERAL (VALUES (t.result ->> 'source'), (t.checkpoint ->> 'source')) AS said (source)
WHERE j.status <> 'completed' AND j.status <> 'cancelled' AND said.source IS NOT NULL
