-- A key in force. A session or code also ends with the key it was created from.
SELECT k.id, k.kind, k.name, k.user_id, k.scopes, k.parent, k.actor, k.created_at, k.expires_at, k.revoked_at, k.used_at,
       k.digest, k.used_at IS NULL OR k.used_at < :now - 60 AS use_is_due
FROM keys AS k LEFT JOIN keys AS p ON p.id = k.parent
WHERE k.id = :id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > :now)
  AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > :now)
