SELECT '0' AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at,
       (SELECT i.name FROM worker_instances AS i WHERE i.id = worker_id) AS worker, NULL AS user_id
FROM events
WHERE entity = 'worker' AND worker_id = :worker_id AND version > :after_version
ORDER BY version LIMIT :limit
