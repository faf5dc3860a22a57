-- More bytes count, if those before them are the ones that the caller went on from.
UPDATE uploads SET received = :received, length = coalesce(:length, length), expires_at = :now + :lifetime
WHERE id = :id AND received = :before AND sha256 IS NULL
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
