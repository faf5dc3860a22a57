INSERT INTO reelstate.jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec,
        resource_id, request, trace)
    SELECT given.id, %(pipeline_id)s, %(user_id)s, %(phase)s, %(priority)s, 'user',
           CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END, clock.now, clock.now,
           given.spec::jsonb, %(resource_id)s::bigint, %(request)s::bigint, given.trace
    FROM given CROSS JOIN clock
