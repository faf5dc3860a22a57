-- How many jobs there are in each status; those that are completed are history, and not counted.
SELECT status, count(*) AS jobs FROM reelstate.jobs
WHERE status <> 'completed' AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
GROUP BY status
