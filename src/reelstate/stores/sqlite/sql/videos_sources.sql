-- What jobs that may still run read their source from: what their fetch came to, or has said that it will; and what was
-- uploaded, which can't be fetched from anywhere again while there is its video.
WITH unfinished AS (
    SELECT id, spec FROM jobs INDEXED BY jobs_by_status
    WHERE status <> 'completed' AND status <> 'cancelled'
      AND pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline)
)
SELECT DISTINCT source FROM (
    SELECT json_extract(t.result, '$.source') AS source FROM unfinished AS j CROSS JOIN tasks AS t ON t.job_id = j.id AND t.part = 0
    UNION ALL
    SELECT json_extract(t.checkpoint, '$.source') FROM unfinished AS j CROSS JOIN tasks AS t ON t.job_id = j.id AND t.part = 0
    UNION ALL
    SELECT substr(json_extract(spec, '$.source'), 10) FROM unfinished
    WHERE substr(json_extract(spec, '$.source'), 1, 9) = 'stored://'
    UNION ALL
    SELECT substr(source, 10) FROM videos WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://'
    UNION ALL
    SELECT sha256 FROM uploads
)
WHERE source IS NOT NULL
