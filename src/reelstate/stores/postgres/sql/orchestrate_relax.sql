-- Ready tasks of a stage wait in another lane. Nothing that the machine knows changes, so there is no event.
UPDATE reelstate.tasks SET lane = sign(lane) * %(lane)s
WHERE job_id = %(job_id)s AND stage = %(stage)s AND status = 'ready' AND abs(lane) = %(origin)s
