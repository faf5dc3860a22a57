-- Delete the uploads of a user.
DELETE FROM uploads WHERE user_id = :user_id;
SELECT changes() AS rows
