-- Restore a deleted video. It keeps the versions whose files were not removed.
UPDATE videos
SET deleted_at = NULL, changed_at = :now, version = version + 1, actor = :actor, reason = :reason
WHERE id = :video_id AND deleted_at IS NOT NULL
RETURNING id
