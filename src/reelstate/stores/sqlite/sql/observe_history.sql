-- The events of one job, or of one entity in it. The index finds these few, which are then sorted: reading in the order
-- of ids, which the planner may prefer because of the limit, would pass the events of all other jobs.
SELECT '0' AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at,
       (SELECT i.name FROM worker_instances AS i WHERE i.id = worker_id) AS worker, NULL AS user_id
FROM events INDEXED BY events_by_entity
WHERE job_id = :job_id
  AND (:stage IS NULL OR stage = :stage)
  AND (:part IS NULL OR part = :part)
  AND id > :after_id
  AND (:owner IS NULL OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.user_id = :owner))
ORDER BY id LIMIT :limit
