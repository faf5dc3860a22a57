-- Nobody has more than so many under way.
INSERT INTO reelstate.uploads (id, user_id, name, length, digest, created_at, expires_at)
SELECT %(id)s, %(user_id)s, %(name)s, %(length)s::bigint, %(digest)s::text, clock.now,
       clock.now + make_interval(secs => %(lifetime)s::float8)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE (SELECT count(*) FROM reelstate.uploads
       WHERE user_id = %(user_id)s AND sha256 IS NULL AND expires_at > clock.now) < %(most)s
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
