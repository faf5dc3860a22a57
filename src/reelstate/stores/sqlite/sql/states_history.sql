-- The states of the tasks of one job of the engine, in the order of commit. The index orders each stage by itself, so
-- `limit` rows are read of each.
SELECT '0' AS xid, l.id, j.id AS job, j.user_id, l.job_id, l.task, l.tag, l.status, l.severity, l.message, l.payload, l.schema_version, l.at,
       l.version, l.event_id, l.generation
FROM jobs AS j
CROSS JOIN pipelines AS p ON p.id = j.pipeline_id
CROSS JOIN json_each(p.graph, '$.stages') AS stage
CROSS JOIN state_jobs AS k ON k.job_id = j.id || '.' || json_extract(stage.value, '$.name')
CROSS JOIN state_log AS l ON l.id IN (
    SELECT s.id FROM state_log AS s INDEXED BY state_log_by_job
    WHERE s.job_id = k.job_id AND s.generation = k.generation AND s.id > :after_id
    ORDER BY s.id LIMIT :limit)
WHERE j.id = :job_id
ORDER BY l.id LIMIT :limit
