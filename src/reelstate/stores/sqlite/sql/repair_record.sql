-- The events of an entity: a job (stage and part are -1), a task or (by its id) a worker. Each half has its index.
SELECT version, origin, target FROM history
WHERE :entity <> 'worker' AND entity = :entity AND job_id = :id AND stage = :stage AND part = :part
UNION ALL
SELECT version, origin, target FROM events
WHERE :entity = 'worker' AND entity = 'worker' AND worker_id = :id
ORDER BY version
