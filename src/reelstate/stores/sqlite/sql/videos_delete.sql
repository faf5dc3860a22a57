UPDATE videos
SET deleted_at = :now, changed_at = :now, version = version + 1, actor = :actor, reason = :reason
WHERE id = :video_id AND deleted_at IS NULL
RETURNING id
