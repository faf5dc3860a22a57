-- The results of a job's one-part stages: its plan.
SELECT stage, result FROM reelstate.tasks
WHERE job_id = %(job_id)s AND stage = ANY (%(stages)s::smallint[]) AND part = 0 AND status = 'done' AND result IS NOT NULL
ORDER BY stage
