-- Differs from PostgreSQL: a write transaction has the database to itself.
SELECT id, source, pinned, deleted_at FROM videos
WHERE id IN (SELECT value FROM json_each(:video_ids))
ORDER BY id
