-- The number of jobs in each status but `completed`, whose number has no bound.
SELECT status, count(*) AS jobs FROM reelstate.jobs
WHERE status <> 'completed' AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
GROUP BY status
