SELECT job_id, stage, part, status, priority, input, run_after, ready_at, claimed_at, started_at, progress_at,
       finished_at, worker_id, lease_expires_at, token, attempt, max_attempts, lost,
       lane < 0 AS isolated, last_worker, step, message,
       percent, checkpoint, result, error, version, actor, reason, changed_at,
       coalesce(lease_expires_at <= :now, false) AS lease_expired,
       (SELECT i.name FROM worker_instances AS i WHERE i.id = last_worker) AS worker
FROM tasks
WHERE job_id = :job_id AND (stage, part) > (:after_stage, :after_part)
  AND (:stage IS NULL OR stage = :stage)
  AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
ORDER BY job_id, stage, part LIMIT :limit
