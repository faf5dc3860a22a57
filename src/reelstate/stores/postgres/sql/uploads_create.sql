-- Guarded by what the user's uploads without a video amount to: how many are under way, how many there are, their bytes.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), used AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE u.sha256 IS NULL) AS open, count(*) AS unused,
           coalesce(sum(coalesce(u.length, u.received)), 0) AS size
    FROM clock, reelstate.uploads u
    WHERE u.user_id = %(user_id)s AND u.expires_at > clock.now AND NOT EXISTS (
        SELECT FROM reelstate.videos v
        WHERE v.source = 'stored://' || u.sha256 AND v.deleted_at IS NULL AND substr(v.source, 1, 9) = 'stored://')
)
INSERT INTO reelstate.uploads (id, user_id, name, length, digest, created_at, expires_at)
SELECT %(id)s, %(user_id)s, %(name)s, %(length)s::bigint, %(digest)s::text, clock.now,
       clock.now + make_interval(secs => %(lifetime)s::float8)
FROM clock, used
WHERE used.open < %(max_open)s AND used.unused < %(max_unused)s
  AND used.size + coalesce(%(length)s::bigint, 1) <= %(max_bytes)s::bigint
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
