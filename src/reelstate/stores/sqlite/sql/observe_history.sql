-- The events of one job, or of one entity in it.
SELECT '0' AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at
FROM events
WHERE job_id = :job_id
  AND (:stage IS NULL OR stage = :stage)
  AND (:part IS NULL OR part = :part)
  AND id > :after_id
ORDER BY id LIMIT :limit
