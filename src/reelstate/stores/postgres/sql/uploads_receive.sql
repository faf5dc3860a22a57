-- More bytes count, if those before them are the ones that the caller went on from.
UPDATE reelstate.uploads u
SET received = %(received)s, length = coalesce(%(length)s::bigint, u.length),
    expires_at = clock.now + make_interval(secs => %(lifetime)s::float8)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE u.id = %(id)s AND u.received = %(before)s AND u.sha256 IS NULL
RETURNING u.id, u.user_id, u.name, u.length, u.received, u.digest, u.sha256, u.created_at, u.expires_at
