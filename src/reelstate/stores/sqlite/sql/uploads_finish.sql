-- All has come. From here on its source is one that is needed.
UPDATE uploads SET sha256 = :sha256, expires_at = :now + :lifetime
WHERE id = :id AND received = length AND (sha256 IS NULL OR sha256 = :sha256)
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
