SELECT stage, count(*) FROM reelstate.tasks
WHERE job_id = %(job_id)s AND stage = ANY (%(stages)s::smallint[]) AND status = 'running'
GROUP BY stage ORDER BY stage
