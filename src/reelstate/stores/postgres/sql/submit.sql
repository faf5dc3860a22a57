INSERT INTO reelstate.jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec)
SELECT id, pipeline_id, user_id, phase, priority, 'user',
       CASE WHEN delay > 0 THEN clock.now + make_interval(secs => delay) END, clock.now, clock.now, spec::jsonb
FROM unnest(%(id)s::bigint[], %(pipeline_id)s::integer[], %(user_id)s::text[], %(phase)s::text[],
            %(priority)s::smallint[], %(delay)s::float8[], %(spec)s::text[])
     AS given (id, pipeline_id, user_id, phase, priority, delay, spec),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
