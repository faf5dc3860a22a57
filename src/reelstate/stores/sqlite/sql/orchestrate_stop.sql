-- As `orchestrate_reset`, and stop running tasks too; their run does not count as an attempt.
UPDATE tasks
SET status = 'new', run_after = NULL, ready_at = NULL, worker_id = NULL, lease_expires_at = NULL,
    attempt = attempt - CASE WHEN status = 'running' THEN 1 ELSE 0 END,
    version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids))
  AND (status = 'ready' OR status = 'error' AND run_after IS NOT NULL OR status = 'running')
