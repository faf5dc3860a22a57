-- The tasks that the instances of a name hold now.
SELECT t.job_id, t.stage, t.part, t.token
FROM reelstate.workers w JOIN reelstate.tasks t ON t.worker_id = w.id
WHERE w.name = %(name)s ORDER BY t.job_id, t.stage, t.part
