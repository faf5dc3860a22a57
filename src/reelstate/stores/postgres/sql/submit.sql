-- Insert jobs that differ in their id and spec only.
INSERT INTO reelstate.jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec,
    resource_id)
SELECT id, %(pipeline_id)s, %(user_id)s, %(phase)s, %(priority)s, 'user',
       CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END, clock.now, clock.now, spec::jsonb,
       %(resource_id)s::bigint
FROM unnest(%(id)s::bigint[], %(spec)s::text[]) AS given (id, spec),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
