-- Differs from PostgreSQL: a write transaction has the database to itself.
SELECT id, source, pinned, version, deleted_at FROM videos
WHERE id IN (SELECT value FROM json_each(:video_ids)) AND (:owner IS NULL OR user_id = :owner)
ORDER BY id
