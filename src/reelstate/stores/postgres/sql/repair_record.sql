-- What is told of an entity: of a job (stage and part are -1), a task or (by its id in job_id) a worker.
SELECT version, origin, target FROM reelstate.events
WHERE entity = %(entity)s AND stage = %(stage)s AND part = %(part)s
  AND CASE WHEN %(entity)s = 'worker' THEN worker_id = %(id)s ELSE job_id = %(id)s END
ORDER BY version
