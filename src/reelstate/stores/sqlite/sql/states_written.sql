-- The version of an event id that another process wrote concurrently.
SELECT job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation FROM state_log
WHERE job_id = :job_id AND generation = :generation AND task = :task AND tag = :tag AND event_id = :event_id
