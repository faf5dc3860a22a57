-- Whether there is such a video, for this user.
SELECT id FROM videos WHERE id = :video_id AND deleted_at IS NULL AND (:owner IS NULL OR user_id = :owner)
