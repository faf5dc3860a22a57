-- Only for a video that is there.
INSERT INTO reelstate.tickets (digest, video_id, key_id, created_at, expires_at)
SELECT %(digest)s, v.id, %(key_id)s, clock.now, clock.now + make_interval(secs => %(lifetime)s::float8)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, reelstate.videos v
WHERE v.id = %(video_id)s AND v.deleted_at IS NULL AND (%(owner)s::text IS NULL OR v.user_id = %(owner)s::text)
RETURNING expires_at
