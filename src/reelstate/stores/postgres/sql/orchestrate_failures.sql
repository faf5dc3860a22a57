-- The first part of each stage that failed for good, with its error, and how many did.
SELECT DISTINCT ON (t.job_id, t.stage) t.job_id, t.stage, t.part, t.error,
       count(*) OVER (PARTITION BY t.job_id, t.stage) AS failed
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[]) AS given (job_id, stage)
JOIN reelstate.tasks t ON t.job_id = given.job_id AND t.stage = given.stage
WHERE t.status = 'error' AND t.run_after IS NULL
ORDER BY t.job_id, t.stage, t.part
