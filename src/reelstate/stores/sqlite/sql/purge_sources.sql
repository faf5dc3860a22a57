-- The uploads of a user, and the sha256 of those that are complete.
SELECT id, sha256 FROM uploads WHERE user_id = :user_id ORDER BY id
