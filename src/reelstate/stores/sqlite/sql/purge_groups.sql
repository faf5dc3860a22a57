-- Delete the groups of a user.
DELETE FROM group_jobs WHERE group_id IN (SELECT id FROM groups WHERE user_id = :user_id);
DELETE FROM groups WHERE user_id = :user_id;
SELECT changes() AS rows
