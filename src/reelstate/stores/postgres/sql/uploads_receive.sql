-- More bytes count, if those before them are the ones that the caller went on from. The bytes of an upload of unknown
-- length are charged to the user's quota here; those of any other were charged when it was created.
UPDATE reelstate.uploads u
SET received = %(received)s, length = coalesce(%(length)s::bigint, u.length),
    expires_at = clock.now + make_interval(secs => %(lifetime)s::float8)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE u.id = %(id)s AND u.received = %(before)s AND u.sha256 IS NULL AND (u.length IS NOT NULL OR %(received)s + (
    SELECT coalesce(sum(coalesce(o.length, o.received)), 0) FROM reelstate.uploads o
    WHERE o.user_id = u.user_id AND o.id <> u.id AND o.expires_at > clock.now AND NOT EXISTS (
        SELECT FROM reelstate.videos v
        WHERE v.source = 'stored://' || o.sha256 AND v.deleted_at IS NULL AND substr(v.source, 1, 9) = 'stored://')
) <= %(max_bytes)s::bigint)
RETURNING u.id, u.user_id, u.name, u.length, u.received, u.digest, u.sha256, u.created_at, u.expires_at
