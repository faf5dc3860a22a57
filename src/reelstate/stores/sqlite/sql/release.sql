-- Return tasks to the queue; the run does not count as an attempt. In an inactive job they wait as `new`.
WITH given (job_id, stage, part, token) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
), held AS MATERIALIZED (
    SELECT t.rowid AS task, j.status IN ('failed', 'quarantined', 'completed', 'cancelled') AS inactive
    FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
    JOIN jobs AS j ON j.id = t.job_id
    WHERE t.status = 'running' AND t.token = given.token
)
UPDATE tasks
SET status = CASE WHEN held.inactive THEN 'new' ELSE 'ready' END,
    ready_at = CASE WHEN held.inactive THEN NULL ELSE :now END,
    attempt = attempt - 1, worker_id = NULL, lease_expires_at = NULL,
    version = version + 1, actor = :actor, reason = :reason, changed_at = :now
FROM held
WHERE tasks.rowid = held.task
RETURNING job_id, stage, part, token
