-- The newest jobs of a user by status, up to a limit of jobs.
SELECT status, count(*) AS jobs
FROM (SELECT status FROM reelstate.jobs WHERE user_id = %(owner)s AND user_id <> '' ORDER BY id DESC LIMIT %(limit)s) AS newest
GROUP BY status
