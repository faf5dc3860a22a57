-- A code is redeemed once.
UPDATE keys SET revoked_at = :now
WHERE id = :id AND digest = :digest AND kind = 'code' AND revoked_at IS NULL AND expires_at > :now
RETURNING name, user_id, scopes, parent
