-- Restore a deleted video. It keeps the versions whose files were not removed.
UPDATE reelstate.videos v
SET deleted_at = NULL, changed_at = clock.now, version = v.version + 1, actor = %(actor)s, reason = %(reason)s
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE v.id = %(video_id)s AND v.deleted_at IS NOT NULL
RETURNING v.id
