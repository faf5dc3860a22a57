UPDATE reelstate.jobs j
SET status = given.status, phase = given.phase, version = j.version + 1, actor = given.actor, reason = given.reason,
    changed_at = clock.now, error = coalesce(given.error::jsonb, j.error),
    degraded = coalesce(given.degraded::jsonb, j.degraded),
    finished_at = CASE WHEN given.status IN ('completed', 'failed', 'quarantined') THEN greatest(clock.now, j.started_at) END
FROM unnest(%(id)s::bigint[], %(origin)s::text[], %(status)s::text[], %(phase)s::text[], %(actor)s::text[],
            %(reason)s::text[], %(error)s::text[], %(degraded)s::text[])
     AS given (id, origin, status, phase, actor, reason, error, degraded),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE j.id = given.id AND j.status = given.origin
