-- The next version of a state, or the one that the same event id stored before. The lock admits writers of one state one
-- by one, before any has a transaction id: so versions and transactions are in the same order, and the feed needs only
-- the order of transactions. A state of an earlier generation, stored by a write that overlapped the deletion of its job,
-- is ignored.
WITH turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended(%(job_id)s || '/' || %(task)s || '/' || %(tag)s, 7)) IS NULL AS locked
), first AS MATERIALIZED (
    SELECT job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation
    FROM reelstate.state_log
    WHERE job_id = %(job_id)s AND generation = %(generation)s AND task = %(task)s AND tag = %(tag)s
      AND event_id = %(event_id)s
), newest AS (
    INSERT INTO reelstate.states AS s (job_id, generation, task, tag, status, severity, message, payload,
        schema_version, version, event_id, at)
    SELECT %(job_id)s, %(generation)s, %(task)s, %(tag)s, coalesce(%(status)s::integer, 0), %(severity)s, %(message)s,
           %(payload)s::jsonb, %(schema_version)s, 1, %(event_id)s, coalesce(%(now)s::timestamptz, clock_timestamp())
    FROM turn CROSS JOIN reelstate.state_jobs j
    WHERE j.job_id = %(job_id)s AND j.generation = %(generation)s AND j.deleted_at IS NULL
      AND NOT EXISTS (SELECT FROM first)
    ON CONFLICT (job_id, task, tag) DO UPDATE
    SET status = coalesce(%(status)s::integer, CASE WHEN s.generation = excluded.generation THEN s.status ELSE 0 END),
        severity = excluded.severity, message = excluded.message,
        payload = excluded.payload, schema_version = excluded.schema_version, event_id = excluded.event_id,
        at = excluded.at, generation = excluded.generation,
        version = CASE WHEN s.generation = excluded.generation THEN s.version ELSE 0 END + 1
    WHERE s.event_id <> excluded.event_id OR s.generation <> excluded.generation
    RETURNING s.*
), logged AS (
    INSERT INTO reelstate.state_log (job_id, generation, task, tag, status, severity, message, payload, schema_version,
        version, event_id, at)
    SELECT job_id, generation, task, tag, status, severity, message, payload, schema_version, version, event_id, at
    FROM newest
    RETURNING job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id,
        generation
)
SELECT * FROM first UNION ALL SELECT * FROM logged
