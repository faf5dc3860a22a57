-- A key in force expires after the overlap, or when it would have expired before.
UPDATE reelstate.keys
SET expires_at = least(expires_at, clock.now + make_interval(secs => %(overlap)s::float8)), actor = %(actor)s
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE id = %(id)s AND kind = 'key' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock.now)
RETURNING name, user_id, scopes
