-- Whose turn a task is.
SELECT status, token FROM reelstate.tasks WHERE job_id = %(job_id)s AND stage = %(stage)s AND part = %(part)s
