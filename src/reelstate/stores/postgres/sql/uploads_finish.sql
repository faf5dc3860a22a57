-- All has come. From here on its source is one that is needed.
UPDATE reelstate.uploads u
SET sha256 = %(sha256)s, expires_at = clock.now + make_interval(secs => %(lifetime)s::float8)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE u.id = %(id)s AND u.received = u.length AND (u.sha256 IS NULL OR u.sha256 = %(sha256)s)
RETURNING u.id, u.user_id, u.name, u.length, u.received, u.digest, u.sha256, u.created_at, u.expires_at
