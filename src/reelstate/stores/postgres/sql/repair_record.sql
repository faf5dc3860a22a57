-- The events of an entity: a job (stage and part are -1), a task or (by its id) a worker.
SELECT version, origin, target FROM reelstate.history
WHERE entity = %(entity)s AND %(entity)s <> 'worker' AND job_id = %(id)s AND stage = %(stage)s AND part = %(part)s
UNION ALL
SELECT version, origin, target FROM reelstate.events
WHERE entity = 'worker' AND %(entity)s = 'worker' AND worker_id = %(id)s
ORDER BY version
