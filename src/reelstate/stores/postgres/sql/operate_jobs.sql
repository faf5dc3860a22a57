-- A job that runs again runs now, even if it was submitted with a delay.
UPDATE reelstate.jobs j
SET status = %(status)s, version = j.version + 1, actor = %(actor)s, reason = %(reason)s, changed_at = clock.now,
    run_after = CASE WHEN %(status)s <> 'pending' THEN j.run_after END,
    finished_at = CASE WHEN %(status)s <> 'pending' THEN greatest(clock.now, j.started_at) END,
    error = CASE WHEN %(status)s IN ('pending', 'completed') THEN NULL ELSE j.error END
FROM unnest(%(id)s::bigint[], %(origin)s::text[]) AS given (id, origin),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE j.id = given.id AND j.status = given.origin
RETURNING j.id
