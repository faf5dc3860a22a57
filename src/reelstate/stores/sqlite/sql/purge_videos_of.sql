-- The videos of a user, deleted ones too.
SELECT id FROM videos WHERE user_id = :user_id ORDER BY id
