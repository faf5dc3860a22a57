-- A key in force, or a row of defaults, so that an unknown id takes as long as a wrong secret. A session or code also ends
-- with the key it was created from.
SELECT k.id, coalesce(k.kind, 'key') AS kind, coalesce(k.name, 'unknown') AS name, coalesce(k.user_id, '') AS user_id,
       coalesce(k.scopes, '["admin"]') AS scopes, k.parent, coalesce(k.actor, 'unknown') AS actor,
       coalesce(k.created_at, :now) AS created_at, k.expires_at, k.revoked_at, k.used_at,
       coalesce(k.digest, printf('%064d', 0)) AS digest, k.used_at IS NULL OR k.used_at < :now - 60 AS use_is_due
FROM (SELECT 1) LEFT JOIN (keys AS k LEFT JOIN keys AS p ON p.id = k.parent)
  ON k.id = :id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > :now)
  AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > :now)
