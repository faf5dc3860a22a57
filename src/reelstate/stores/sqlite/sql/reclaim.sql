-- Take back leases that expired or whose worker is dead, and decide on each task, in one statement. A stall and a timeout
-- count as an attempt, but not as a lost worker. A task that has lost too many workers, the last one while it ran alone,
-- is a poison task.
-- With a `gap`, no expiry counts while no keeper was seen for that long, or for a third of the task's lease. That is checked
-- here, because the database may have been unreachable since the sweep began. After such a gap a lease that expired since
-- then has its own length of grace; a timeout has none, for an outage does not cause it.
-- `stall` is the deployment's limit for runs whose stage sets none: they end as stalled though their lease is in force.
-- Differs from PostgreSQL: RETURNING sees the row alone, so a poison task is recognised by the counters just raised.
WITH expired AS MATERIALIZED (
    SELECT rowid AS task, job_id, attempt, max_attempts, alone, lost_alone, max_lost,
           CASE WHEN worker_id IN (SELECT value FROM json_each(:dead)) THEN 'worker died'
                WHEN claimed_at + timeout <= :now THEN 'timed out'
                WHEN progress_at + stall_after <= :now THEN 'stalled'
                WHEN lease_expires_at >= :now THEN 'stalled'
                ELSE 'lease expired' END AS cause
    FROM tasks INDEXED BY tasks_running
    WHERE status = 'running'
      AND (worker_id IN (SELECT value FROM json_each(:dead)) OR :expired
           AND (lease_expires_at < :now
                OR stall_after IS NULL AND flag_after IS NULL AND progress_at + :stall <= :now)
           AND (:gap IS NULL OR EXISTS (
               SELECT 1 FROM keeper AS k
               WHERE k.seen_at >= :now - min(:gap, tasks.lease / 3)
                 AND NOT coalesce(k.grace_started_at <= :now AND :now < min(k.grace_until, k.grace_started_at + tasks.lease)
                                  AND tasks.lease_expires_at >= coalesce(k.gap_since, 0)
                                  AND NOT coalesce(tasks.claimed_at + tasks.timeout <= :now, 0), 0))))
      AND (:only IS NULL OR job_id IN (SELECT value FROM json_each(:only)))
      AND job_id NOT IN (SELECT value FROM json_each(:without))
    ORDER BY job_id, stage, part LIMIT :limit
), decided AS MATERIALIZED (
    SELECT e.task, e.cause,
           CASE WHEN j.status IN ('completed', 'cancelled') THEN 'cancelled'
                WHEN j.status IN ('failed', 'quarantined') THEN 'new'
                WHEN e.attempt >= e.max_attempts
                  OR e.cause IN ('lease expired', 'worker died') AND e.alone
                     AND e.lost_alone + 1 >= e.max_lost THEN 'error'
                ELSE 'ready' END AS status
    FROM expired AS e JOIN jobs AS j ON j.id = e.job_id
)
UPDATE tasks
SET status = decided.status, worker_id = NULL, lease_expires_at = NULL,
    lost = lost + CASE WHEN decided.cause IN ('lease expired', 'worker died') THEN 1 ELSE 0 END,
    lane = CASE WHEN decided.cause IN ('lease expired', 'worker died') AND lost + 1 >= isolate_after
                THEN -abs(lane) ELSE lane END,
    lost_alone = lost_alone + CASE WHEN decided.cause IN ('lease expired', 'worker died') AND alone THEN 1 ELSE 0 END,
    ready_at = CASE WHEN decided.status = 'ready' THEN :now ELSE ready_at END,
    finished_at = CASE WHEN decided.status IN ('error', 'cancelled') THEN max(:now, coalesce(started_at, :now)) END,
    error = CASE WHEN decided.status = 'error' THEN json_object(
        'type', 'lost', 'message', decided.cause, 'worker', worker_id, 'attempt', attempt,
        'step', step, 'last_message', message) ELSE error END,
    version = version + 1, actor = 'keeper', reason = decided.cause, changed_at = :now
FROM decided
WHERE tasks.rowid = decided.task
RETURNING job_id, stage, part, status,
          reason IN ('lease expired', 'worker died') AND alone
            AND (lost_alone >= max_lost OR attempt >= max_attempts AND lost >= max_lost) AS poison, error,
          reason AS cause, token, attempt, last_worker, :now - claimed_at AS ran,
          (SELECT j.pipeline_id FROM jobs AS j WHERE j.id = tasks.job_id) AS pipeline_id,
          (SELECT j.trace FROM jobs AS j WHERE j.id = tasks.job_id) AS trace
