-- What jobs that may still run read their source from: what their fetch came to, or has said that it will.
SELECT DISTINCT source FROM (
    SELECT json_extract(t.result, '$.source') AS source
    FROM jobs AS j INDEXED BY jobs_by_status CROSS JOIN tasks AS t ON t.job_id = j.id AND t.part = 0
    WHERE j.status <> 'completed' AND j.status <> 'cancelled'
      AND j.pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline)
    UNION ALL
    SELECT json_extract(t.checkpoint, '$.source')
    FROM jobs AS j INDEXED BY jobs_by_status CROSS JOIN tasks AS t ON t.job_id = j.id AND t.part = 0
    WHERE j.status <> 'completed' AND j.status <> 'cancelled'
      AND j.pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline)
)
WHERE source IS NOT NULL
