UPDATE tasks
SET status = 'cancelled', worker_id = NULL, lease_expires_at = NULL, run_after = NULL, finished_at = max(:now, coalesce(started_at, :now)),
    version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND status IN ('new', 'ready', 'running', 'error')
