-- Move the waiting tasks of stopped jobs back to `new`.
UPDATE tasks
SET status = 'new', run_after = NULL, ready_at = NULL,
    version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids))
  AND (status = 'ready' OR status = 'error' AND run_after IS NOT NULL)
