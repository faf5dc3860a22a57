-- What the tasks of one job of the engine said, in the order of commit.
SELECT '0' AS xid, id, job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id
FROM state_log
WHERE job_id IN (
    SELECT j.id || '.' || json_extract(stage.value, '$.name')
    FROM jobs AS j JOIN pipelines AS p ON p.id = j.pipeline_id, json_each(p.graph, '$.stages') AS stage
    WHERE j.id = :job_id)
  AND id > :after_id
ORDER BY id LIMIT :limit
