-- A job, and the newest state of one of its tasks under one tag where there is one: one row.
SELECT j.job_id, j.tasks, j.tags, j.generation, s.task, s.tag, s.status, s.severity, s.message, s.payload,
       s.schema_version, s.at, s.version, s.event_id
FROM state_jobs AS j
LEFT JOIN states AS s
    ON s.job_id = j.job_id AND s.generation = j.generation AND s.task = :task AND s.tag = :tag
WHERE j.job_id = :job_id AND j.deleted_at IS NULL
