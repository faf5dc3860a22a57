-- What the results of last stages list as missing: the array `degraded`.
SELECT t.job_id, t.result -> 'degraded' AS degraded
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[]) AS given (job_id, stage)
JOIN reelstate.tasks t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = 0
WHERE jsonb_typeof(t.result -> 'degraded') = 'array'
ORDER BY t.job_id, t.stage
