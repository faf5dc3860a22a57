-- Move a ready task to another lane; an isolated task stays isolated. Where there are limits, it arrives again.
UPDATE reelstate.tasks
SET lane = CASE WHEN lane < 0 THEN -1 ELSE 1 END * (%(lane)s::integer
    + CASE WHEN EXISTS (SELECT FROM reelstate.limits WHERE removed_at IS NULL) THEN 268435456 ELSE 0 END)
WHERE job_id = %(job_id)s AND stage = %(stage)s AND part = %(part)s AND status = 'ready'
