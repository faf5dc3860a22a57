SELECT version, status FROM reelstate.jobs WHERE %(entity)s = 'job' AND id = %(id)s
UNION ALL
SELECT version, status FROM reelstate.tasks
WHERE %(entity)s = 'task' AND job_id = %(id)s AND stage = %(stage)s AND part = %(part)s
UNION ALL
SELECT version, status FROM reelstate.workers WHERE %(entity)s = 'worker' AND id = %(id)s
