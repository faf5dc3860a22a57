-- The running tasks of a job, or of a stage or part of it, those with the oldest progress first. The index of leases has
-- the running tasks of all jobs, as many as the workers have slots. `expired` is the condition of `reclaim`.
SELECT t.stage, t.part, i.name AS worker, t.attempt, t.max_attempts, t.percent, t.lane < 0 AS isolated,
       t.lease_expires_at < :now AS expired,
       CASE WHEN t.claimed_at + t.timeout <= :now THEN 'timed out'
            WHEN t.progress_at + t.stall_after <= :now THEN 'stalled'
            ELSE 'lease expired' END AS cause,
       :now - t.progress_at AS progress_age, t.lease_expires_at - :now AS lease_left, t.lease_expires_at
FROM tasks AS t INDEXED BY tasks_running
LEFT JOIN worker_instances AS i ON i.id = t.worker_id
WHERE t.status = 'running' AND t.job_id = :job_id AND t.stage IN (SELECT value FROM json_each(:stages))
  AND (:part IS NULL OR t.part = :part)
ORDER BY t.progress_at, t.stage, t.part LIMIT :cap
