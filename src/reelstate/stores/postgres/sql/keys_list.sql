SELECT id, kind, name, user_id, scopes, parent, actor, created_at, expires_at, revoked_at, used_at
FROM reelstate.keys WHERE kind = 'key' ORDER BY created_at, id
