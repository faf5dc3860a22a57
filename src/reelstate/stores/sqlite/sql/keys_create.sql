INSERT INTO keys (id, kind, name, user_id, scopes, digest, parent, actor, created_at, expires_at)
VALUES (:id, :kind, :name, :user_id, :scopes, :digest, :parent, :actor, :now, :now + :lifetime)
RETURNING id, kind, name, user_id, scopes, parent, actor, created_at, expires_at, revoked_at, used_at
