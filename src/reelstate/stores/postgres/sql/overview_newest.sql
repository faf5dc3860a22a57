-- The newest jobs by status, up to a limit of jobs: all statuses, also `completed`, which no index counts.
SELECT status, count(*) AS jobs
FROM (SELECT status FROM reelstate.jobs ORDER BY id DESC LIMIT %(limit)s) AS newest
GROUP BY status
