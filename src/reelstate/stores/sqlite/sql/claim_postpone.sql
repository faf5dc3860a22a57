-- Move tasks that can't be run back to `new` for a while. The run does not count as an attempt.
WITH given (job_id, stage, part, token) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
UPDATE tasks
SET status = 'new', run_after = :now + :delay, ready_at = NULL, attempt = attempt - 1,
    worker_id = NULL, lease_expires_at = NULL,
    version = version + 1, actor = 'worker', reason = :reason, changed_at = :now
FROM given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.part = given.part
  AND tasks.status = 'running' AND tasks.token = given.token
