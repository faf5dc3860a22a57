-- The number of jobs in each status but `completed`, whose number has no bound.
SELECT status, count(*) AS jobs FROM jobs INDEXED BY jobs_by_status
WHERE status <> 'completed' AND (:owner IS NULL OR user_id = :owner)
GROUP BY status
