-- Whether there is such a video, for this user.
SELECT id FROM reelstate.videos
WHERE id = %(video_id)s AND deleted_at IS NULL AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
