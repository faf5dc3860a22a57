-- What last stages say is missing of their jobs, though these complete: the array `degraded` in a result.
SELECT t.job_id, t.result -> 'degraded' AS degraded
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[]) AS given (job_id, stage)
JOIN reelstate.tasks t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = 0
WHERE jsonb_typeof(t.result -> 'degraded') = 'array'
ORDER BY t.job_id, t.stage
