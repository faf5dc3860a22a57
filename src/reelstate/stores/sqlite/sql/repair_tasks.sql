-- Set the status of tasks, and every other field as that status requires.
WITH given (job_id, stage, part, status) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
UPDATE tasks
SET status = given.status,
    worker_id = CASE WHEN given.status = 'running' THEN worker_id END,
    lease_expires_at = CASE WHEN given.status = 'running' THEN lease_expires_at END,
    attempt = max(attempt, 0),
    max_attempts = max(max_attempts, attempt),
    token = max(token, coalesce((SELECT max(e.token) FROM events AS e
                                 WHERE e.job_id = tasks.job_id AND e.stage = tasks.stage AND e.part = tasks.part), 0)),
    run_after = CASE WHEN given.status = 'new' OR given.status = 'error' AND finished_at IS NULL THEN run_after END,
    ready_at = CASE WHEN given.status = 'ready' THEN coalesce(ready_at, :now) ELSE ready_at END,
    finished_at = CASE WHEN given.status IN ('done', 'skipped', 'cancelled')
                         OR given.status = 'error' AND (run_after IS NULL OR finished_at IS NOT NULL)
                       THEN max(coalesce(finished_at, :now), coalesce(started_at, 0)) END,
    version = version + 1, actor = 'doctor', reason = :reason, changed_at = :now
FROM given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.part = given.part
RETURNING job_id, stage, part, version, status
