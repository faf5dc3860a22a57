-- How many jobs there are in each status; those that are completed are history, and not counted.
SELECT status, count(*) AS jobs FROM jobs INDEXED BY jobs_by_status
WHERE status <> 'completed' AND (:owner IS NULL OR user_id = :owner)
GROUP BY status
