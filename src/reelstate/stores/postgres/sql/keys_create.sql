INSERT INTO reelstate.keys (id, kind, name, user_id, scopes, digest, parent, actor, created_at, expires_at)
SELECT %(id)s, %(kind)s, %(name)s, %(user_id)s, %(scopes)s::text[], %(digest)s, %(parent)s::text, %(actor)s, clock.now,
       clock.now + make_interval(secs => %(lifetime)s::float8)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
RETURNING id, kind, name, user_id, scopes, parent, actor, created_at, expires_at, revoked_at, used_at
