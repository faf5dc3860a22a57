-- Make the tasks of reopened stages without a fan-out ready. A task of a stopped job may be out of attempts; it gets those
-- of the stage once more.
UPDATE tasks
SET status = 'ready', lane = CASE WHEN lane < 0 THEN -:lane ELSE :lane END, ready_at = :now, run_after = NULL, max_attempts = max(max_attempts, attempt + :attempts),
    version = version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND stage = :stage AND status = 'new'
