SELECT xid::text AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at,
       (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = worker_id) AS worker, NULL::text AS user_id
FROM reelstate.events
WHERE entity = 'worker' AND worker_id = %(worker_id)s AND version > %(after_version)s
ORDER BY version LIMIT %(limit)s
