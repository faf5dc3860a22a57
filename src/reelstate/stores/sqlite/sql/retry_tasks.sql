-- Unfinished tasks of an open stage run again, with the stage's attempts on top. Lost leases stay counted (the task
-- stays isolated), but the count that leads to quarantine starts again.
WITH given (job_id, stage, attempts) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
UPDATE tasks
SET status = 'ready', ready_at = :now, run_after = NULL, finished_at = NULL,
    max_attempts = attempt + given.attempts, lost_alone = 0,
    version = version + 1, actor = :actor, reason = :reason, changed_at = :now
FROM given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.status IN ('new', 'error')
RETURNING job_id, stage, status
