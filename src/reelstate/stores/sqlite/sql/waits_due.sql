-- Make jobs due that wait for jobs which have ended, or for groups in which no job is active, up to a limit and in the order
-- of their ids; those that are cancelled after a failure, with the first failed job of a group. Returns how many were found,
-- and the last of them.
-- Differs from PostgreSQL: a CTE can't write, so the jobs are found twice.
UPDATE waits SET due = 1 WHERE job_id IN ({waits_found});
SELECT count(*) AS jobs, max(job_id) AS last FROM ({waits_found}) AS found
