-- Delete the tickets for the videos of a user, and those that the user has taken.
DELETE FROM tickets WHERE video_id IN (SELECT id FROM videos WHERE user_id = :user_id)
   OR key_id IN (SELECT id FROM keys WHERE user_id = :user_id);
SELECT changes() AS rows
