SELECT u.id, u.user_id, u.name, u.length, u.received, u.digest, u.sha256, u.created_at, u.expires_at
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, reelstate.uploads u
WHERE u.id = %(id)s AND u.expires_at > clock.now AND (%(owner)s::text IS NULL OR u.user_id = %(owner)s::text)
