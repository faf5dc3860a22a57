-- Guarded by what the user's uploads without a video amount to: how many are under way, how many there are, their bytes.
INSERT INTO uploads (id, user_id, name, length, digest, created_at, expires_at)
SELECT :id, :user_id, :name, :length, :digest, :now, :now + :lifetime
FROM (SELECT count(*) FILTER (WHERE u.sha256 IS NULL) AS open, count(*) AS unused,
             coalesce(sum(coalesce(u.length, u.received)), 0) AS size
      FROM uploads AS u
      WHERE u.user_id = :user_id AND u.expires_at > :now AND NOT EXISTS (
          SELECT 1 FROM videos AS v
          WHERE v.source = 'stored://' || u.sha256 AND v.deleted_at IS NULL AND substr(v.source, 1, 9) = 'stored://'))
     AS used
WHERE used.open < :max_open AND used.unused < :max_unused AND used.size + coalesce(:length, 1) <= :max_bytes
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
