-- Add the next versions of states, several of one key in the order given, except those that an earlier report has stored.
-- The rows of their tasks are locked by now, and a token reports only after the one before it has ended: so the
-- transactions that write a key are in the order of its versions, as the feed needs it.
WITH new AS MATERIALIZED (
    SELECT given.*, k.generation, s.version, s.status AS before
    FROM unnest(%(name)s::text[], %(task)s::integer[], %(tag)s::text[], %(position)s::integer[], %(event_id)s::text[],
                %(status)s::integer[], %(severity)s::text[], %(message)s::text[], %(payload)s::text[])
         AS given (name, task, tag, position, event_id, status, severity, message, payload)
    JOIN reelstate.state_jobs k ON k.job_id = given.name
    LEFT JOIN reelstate.states s
        ON s.job_id = given.name AND s.task = given.task AND s.tag = given.tag AND s.generation = k.generation
    WHERE NOT EXISTS (SELECT FROM reelstate.state_log l
                      WHERE l.job_id = given.name AND l.generation = k.generation AND l.task = given.task
                        AND l.tag = given.tag AND l.event_id = given.event_id)
), counted AS (
    SELECT new.*, row_number() OVER following AS nth, count(status) OVER following AS changed
    FROM new WINDOW following AS (PARTITION BY name, task, tag ORDER BY position)
), logged AS (
    INSERT INTO reelstate.state_log (job_id, generation, task, tag, status, severity, message, payload, schema_version,
        version, event_id, at)
    SELECT name, generation, task, tag,
           coalesce(max(status) OVER (PARTITION BY name, task, tag, changed), before, 0),
           severity, message, payload::jsonb, 1, coalesce(version, 0) + nth, event_id,
           coalesce(%(now)s::timestamptz, clock_timestamp())
    FROM counted ORDER BY position
    RETURNING *
)
INSERT INTO reelstate.states AS s (job_id, generation, task, tag, status, severity, message, payload, schema_version,
    version, event_id, at)
SELECT DISTINCT ON (job_id, task, tag) job_id, generation, task, tag, status, severity, message, payload,
       schema_version, version, event_id, at
FROM logged ORDER BY job_id, task, tag, version DESC
ON CONFLICT (job_id, task, tag) DO UPDATE
SET generation = excluded.generation, status = excluded.status, severity = excluded.severity,
    message = excluded.message, payload = excluded.payload, schema_version = excluded.schema_version,
    version = excluded.version, event_id = excluded.event_id, at = excluded.at
