-- The tasks of stages that were opened again and have no fan-out to be made anew.
UPDATE tasks
SET status = 'ready', ready_at = :now, run_after = NULL, version = version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND stage = :stage AND status = 'new'
