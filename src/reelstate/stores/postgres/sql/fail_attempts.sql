-- The attempts and pipelines of tasks, for the backoff; they can't change while the token holds.
SELECT t.job_id, t.stage, t.part, t.attempt, j.pipeline_id
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[])
     AS given (job_id, stage, part, token)
JOIN reelstate.tasks t USING (job_id, stage, part)
JOIN reelstate.jobs j ON j.id = t.job_id
WHERE t.status = 'running' AND t.token = given.token
