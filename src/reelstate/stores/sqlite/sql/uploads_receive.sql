-- More bytes count, if those before them are the ones that the caller went on from. The bytes of an upload of unknown
-- length are charged to the user's quota here; those of any other were charged when it was created.
UPDATE uploads SET received = :received, length = coalesce(:length, length), expires_at = :now + :lifetime
WHERE id = :id AND received = :before AND sha256 IS NULL AND (length IS NOT NULL OR :received + (
    SELECT coalesce(sum(coalesce(u.length, u.received)), 0) FROM uploads AS u
    WHERE u.user_id = uploads.user_id AND u.id <> :id AND u.expires_at > :now AND NOT EXISTS (
        SELECT 1 FROM videos AS v
        WHERE v.source = 'stored://' || u.sha256 AND v.deleted_at IS NULL AND substr(v.source, 1, 9) = 'stored://')
) <= :max_bytes)
RETURNING id, user_id, name, length, received, digest, sha256, created_at, expires_at
