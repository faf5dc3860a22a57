-- Nobody has more than so many under way.
INSERT INTO uploads (id, user_id, name, length, digest, created_at, expires_at)
SELECT :id, :user_id, :name, :length, :digest, :now, :now + :lifetime
WHERE (SELECT count(*) FROM uploads WHERE user_id = :user_id AND sha256 IS NULL AND expires_at > :now) < :most
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
