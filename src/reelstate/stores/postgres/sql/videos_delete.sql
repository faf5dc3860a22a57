UPDATE reelstate.videos v
SET deleted_at = clock.now, changed_at = clock.now, version = v.version + 1, actor = %(actor)s, reason = %(reason)s
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE v.id = %(video_id)s AND v.deleted_at IS NULL
RETURNING v.id
