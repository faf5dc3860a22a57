-- Move the ready tasks of a stage to another lane. Their status does not change, so there is no event.
UPDATE reelstate.tasks SET lane = sign(lane) * %(lane)s
WHERE job_id = %(job_id)s AND stage = %(stage)s AND status = 'ready' AND abs(lane) = %(origin)s
