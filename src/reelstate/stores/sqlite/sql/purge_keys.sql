-- Delete the keys, sessions and codes of a user.
DELETE FROM keys WHERE user_id = :user_id;
SELECT changes() AS rows
