-- A key that is in force ends after the overlap, unless it ends before.
UPDATE keys SET expires_at = min(coalesce(expires_at, :now + :overlap), :now + :overlap), actor = :actor
WHERE id = :id AND kind = 'key' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
RETURNING name, user_id, scopes
