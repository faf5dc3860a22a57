-- Jobs of a user.
SELECT id FROM jobs WHERE user_id = :user_id AND user_id <> '' ORDER BY id LIMIT :limit
