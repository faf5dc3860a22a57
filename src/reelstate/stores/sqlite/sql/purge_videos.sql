-- Delete the videos of a user.
DELETE FROM videos WHERE user_id = :user_id;
SELECT changes() AS rows
