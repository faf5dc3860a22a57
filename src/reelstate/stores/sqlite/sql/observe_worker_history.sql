SELECT '0' AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at
FROM events
WHERE entity = 'worker' AND worker_id = :worker_id AND version > :after_version
ORDER BY version LIMIT :limit
