UPDATE reelstate.jobs j
SET status = given.status, inconsistent = coalesce(given.inconsistent, j.inconsistent),
    finished_at = CASE WHEN given.status IN ('completed', 'failed', 'quarantined', 'cancelled')
                       THEN greatest(coalesce(j.finished_at, clock.now), j.started_at) END,
    version = j.version + 1, actor = 'doctor', reason = %(reason)s, changed_at = clock.now
FROM unnest(%(id)s::bigint[], %(status)s::text[], %(inconsistent)s::text[]) AS given (id, status, inconsistent),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE j.id = given.id
RETURNING j.id, j.version, j.status
