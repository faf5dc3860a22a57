-- Delete the record of removed versions of the videos of a user.
DELETE FROM removed_versions WHERE video_id IN (SELECT id FROM videos WHERE user_id = :user_id);
SELECT changes() AS rows
