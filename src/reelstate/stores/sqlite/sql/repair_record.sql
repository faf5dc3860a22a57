-- What is told of an entity: of a job (stage and part are -1), a task or (by its id in job_id) a worker.
-- Two halves, each with an index of its own.
SELECT version, origin, target FROM events
WHERE :entity <> 'worker' AND entity = :entity AND job_id = :id AND stage = :stage AND part = :part
UNION ALL
SELECT version, origin, target FROM events
WHERE :entity = 'worker' AND entity = 'worker' AND worker_id = :id
ORDER BY version
