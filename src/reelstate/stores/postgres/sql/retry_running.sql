SELECT given.job_id, given.stage
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[]) AS given (job_id, stage)
WHERE EXISTS (
    SELECT FROM reelstate.tasks t WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.status = 'running')
ORDER BY given.job_id, given.stage
