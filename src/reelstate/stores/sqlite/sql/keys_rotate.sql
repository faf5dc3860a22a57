-- A key in force expires after the overlap, or when it would have expired before.
UPDATE keys SET expires_at = min(coalesce(expires_at, :now + :overlap), :now + :overlap), actor = :actor
WHERE id = :id AND kind = 'key' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
RETURNING name, user_id, scopes
