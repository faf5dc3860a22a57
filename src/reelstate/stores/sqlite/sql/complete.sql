-- Accepted while the task runs under the same token, even after expiry: the write lock orders it against reclaim.
-- Of several reports on one task SQLite would take the last; beside min() it gives the columns of the first.
WITH given (job_id, stage, part, token, result, number) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), key
    FROM json_each(:rows)
), held AS MATERIALIZED (
    SELECT t.rowid AS place, given.result, min(given.number)
    FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
    WHERE t.status = 'running' AND t.token = given.token
    GROUP BY t.rowid
)
UPDATE tasks
SET status = :status, result = held.result, percent = 100, error = NULL, worker_id = NULL,
    lease_expires_at = NULL, finished_at = :now, version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
FROM held
WHERE tasks.rowid = held.place
RETURNING job_id, stage, part, token, status
