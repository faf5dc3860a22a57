-- The groups of a user by their names.
SELECT id, name FROM groups WHERE user_id = :user_id AND name IN (SELECT value FROM json_each(:names))
