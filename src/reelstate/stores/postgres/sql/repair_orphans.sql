DELETE FROM reelstate.tasks t
USING unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]) AS given (job_id, stage, part)
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
RETURNING t.job_id, t.stage, t.part, t.version, t.status
