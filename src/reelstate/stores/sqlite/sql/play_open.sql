-- Only for a video that is there.
INSERT INTO tickets (digest, video_id, key_id, created_at, expires_at)
SELECT :digest, id, :key_id, :now, :now + :lifetime FROM videos
WHERE id = :video_id AND deleted_at IS NULL AND (:owner IS NULL OR user_id = :owner)
RETURNING expires_at
