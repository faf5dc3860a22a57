-- The statuses of jobs of a user; a job without a user may wait for any.
SELECT id, status FROM reelstate.jobs
WHERE id = ANY (%(ids)s::bigint[]) AND (%(user_id)s = '' OR user_id = %(user_id)s)
ORDER BY id
