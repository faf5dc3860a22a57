-- The tasks of stages that were opened again and have no fan-out to be made anew.
WITH given (job_id, stage) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE tasks
SET status = 'ready', ready_at = :now, run_after = NULL, version = version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = :now
FROM given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.status = 'new'
