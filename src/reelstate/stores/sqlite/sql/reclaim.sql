-- Expired leases, and what becomes of each task, in one statement. A stall and a timeout are charged but are no loss
-- of the worker. A task that has lost too many, and this one while alone on it, is a killer.
-- Differs from PostgreSQL: RETURNING sees the row alone, so a killer is told by the counters that were just raised.
WITH expired AS MATERIALIZED (
    SELECT rowid AS place, job_id, attempt, max_attempts, alone, lost_alone, max_lost,
           CASE WHEN claimed_at + timeout <= :now THEN 'timed out'
                WHEN progress_at + stall_after <= :now THEN 'stalled'
                ELSE 'lease expired' END AS cause
    FROM tasks INDEXED BY tasks_running
    WHERE status = 'running' AND lease_expires_at < :now
    ORDER BY job_id, stage, part LIMIT :limit
), judged AS MATERIALIZED (
    SELECT e.place, e.cause,
           CASE WHEN j.status IN ('completed', 'cancelled') THEN 'cancelled'
                WHEN j.status IN ('failed', 'quarantined') THEN 'new'
                WHEN e.attempt >= e.max_attempts
                  OR e.cause = 'lease expired' AND e.alone AND e.lost_alone + 1 >= e.max_lost THEN 'error'
                ELSE 'ready' END AS status
    FROM expired AS e JOIN jobs AS j ON j.id = e.job_id
)
UPDATE tasks
SET status = judged.status, worker_id = NULL, lease_expires_at = NULL,
    lost = lost + CASE WHEN judged.cause = 'lease expired' THEN 1 ELSE 0 END,
    lane = CASE WHEN judged.cause = 'lease expired' THEN -abs(lane) ELSE lane END,
    lost_alone = lost_alone + CASE WHEN judged.cause = 'lease expired' AND alone THEN 1 ELSE 0 END,
    ready_at = CASE WHEN judged.status = 'ready' THEN :now ELSE ready_at END,
    finished_at = CASE WHEN judged.status IN ('error', 'cancelled') THEN :now END,
    error = CASE WHEN judged.status = 'error' THEN json_object(
        'type', 'lost', 'message', judged.cause, 'worker', worker_id, 'attempt', attempt,
        'step', step, 'last_message', message) ELSE error END,
    version = version + 1, actor = 'keeper', reason = judged.cause, changed_at = :now
FROM judged
WHERE tasks.rowid = judged.place
RETURNING job_id, stage, part, status,
          reason = 'lease expired' AND alone
            AND (lost_alone >= max_lost OR attempt >= max_attempts AND lost >= max_lost) AS killer, error
