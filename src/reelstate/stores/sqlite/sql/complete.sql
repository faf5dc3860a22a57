-- Accepted while the task runs under the same token, even after expiry: the write lock orders it against reclaim.
WITH given (job_id, stage, part, token, status, result) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]')
    FROM json_each(:rows)
)
UPDATE tasks
SET status = given.status, result = given.result, percent = 100, error = NULL, worker_id = NULL,
    lease_expires_at = NULL, finished_at = :now, version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
FROM given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.part = given.part
  AND tasks.status = 'running' AND tasks.token = given.token
RETURNING job_id, stage, part, token, status
