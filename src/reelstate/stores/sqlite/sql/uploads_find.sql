SELECT id, user_id, name, length, received, digest, sha256, created_at, expires_at FROM uploads
WHERE id = :id AND expires_at > :now AND (:owner IS NULL OR user_id = :owner)
