-- The tasks of stages that were opened again and have no fan-out to be made anew. One that was taken back from a job
-- at rest may have used up its attempts; it gets the stage's once more.
UPDATE tasks
SET status = 'ready', lane = CASE WHEN lane < 0 THEN -:lane ELSE :lane END, ready_at = :now, run_after = NULL, max_attempts = max(max_attempts, attempt + :attempts),
    version = version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND stage = :stage AND status = 'new'
