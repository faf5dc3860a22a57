-- Groups, the newest first: all, those of a user, or those of a name.
SELECT id, user_id, name, round, callback_url, created_at, finished_at
FROM groups
WHERE id < :before AND (:owner IS NULL OR user_id = :owner) AND (:name IS NULL OR name = :name)
ORDER BY id DESC LIMIT :limit
