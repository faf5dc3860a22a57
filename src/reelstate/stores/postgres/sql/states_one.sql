-- A job, and the newest state of one of its tasks under one tag where there is one: one row.
SELECT j.job_id, j.tasks, j.tags, j.generation, s.task, s.tag, s.status, s.severity, s.message, s.payload,
       s.schema_version, s.at, s.version, s.event_id
FROM reelstate.state_jobs AS j
LEFT JOIN reelstate.states AS s
    ON s.job_id = j.job_id AND s.generation = j.generation AND s.task = %(task)s AND s.tag = %(tag)s
WHERE j.job_id = %(job_id)s AND j.deleted_at IS NULL
