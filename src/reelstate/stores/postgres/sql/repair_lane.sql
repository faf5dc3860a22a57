-- Move a ready task to another lane; an isolated task stays isolated.
UPDATE reelstate.tasks SET lane = CASE WHEN lane < 0 THEN -%(lane)s::integer ELSE %(lane)s::integer END
WHERE job_id = %(job_id)s AND stage = %(stage)s AND part = %(part)s AND status = 'ready'
