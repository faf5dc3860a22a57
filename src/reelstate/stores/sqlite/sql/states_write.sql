-- The next version of a state, or the one that the same event id stored before.
-- Differs from PostgreSQL: a CTE can't write, so these are several statements; one writer at a time needs no lock.
-- The log takes its ids from the sequence of events, so that one cursor serves both.
INSERT INTO states (job_id, generation, task, tag, status, severity, message, payload, schema_version, version, event_id,
    at)
SELECT :job_id, :generation, :task, :tag, coalesce(:status, 0), :severity, :message, :payload, :schema_version, 1,
       :event_id, :now
FROM state_jobs AS j
WHERE j.job_id = :job_id AND j.generation = :generation AND j.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM state_log AS l
                  WHERE l.job_id = :job_id AND l.generation = :generation AND l.task = :task AND l.tag = :tag
                    AND l.event_id = :event_id)
ON CONFLICT (job_id, task, tag) DO UPDATE
SET status = coalesce(:status, states.status), severity = excluded.severity, message = excluded.message,
    payload = excluded.payload, schema_version = excluded.schema_version, version = states.version + 1,
    event_id = excluded.event_id, at = excluded.at;

INSERT INTO sqlite_sequence (name, seq) SELECT 'events', 0 WHERE NOT EXISTS (
    SELECT 1 FROM sqlite_sequence WHERE name = 'events');
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'events';

INSERT INTO state_log (id, job_id, generation, task, tag, status, severity, message, payload, schema_version, version,
    event_id, at)
SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events'), job_id, generation, task, tag, status, severity, message, payload, schema_version, version, event_id, at
FROM states
WHERE job_id = :job_id AND generation = :generation AND task = :task AND tag = :tag AND event_id = :event_id
  AND NOT EXISTS (SELECT 1 FROM state_log AS l
                  WHERE l.job_id = :job_id AND l.generation = :generation AND l.task = :task AND l.tag = :tag
                    AND l.event_id = :event_id);

SELECT job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation FROM state_log
WHERE job_id = :job_id AND generation = :generation AND task = :task AND tag = :tag AND event_id = :event_id
