-- The token of the run that holds a task, or held it last.
SELECT status, token FROM reelstate.tasks WHERE job_id = %(job_id)s AND stage = %(stage)s AND part = %(part)s
