-- The statuses of jobs of a user; a job without a user may wait for any.
SELECT id, status FROM jobs
WHERE id IN (SELECT value FROM json_each(:ids)) AND (:user_id = '' OR user_id = :user_id)
ORDER BY id
