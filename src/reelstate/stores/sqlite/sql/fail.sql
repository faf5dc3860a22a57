-- `typeof` because SQLite (3.40 at least) answers IS NULL in a RETURNING clause as if the column could not be null.
-- Of several reports on one task SQLite would take the last; with min() it returns the columns of the first.
-- Differs from PostgreSQL: the totals of the workers are counted first, in their own statement: a CTE can't write.
UPDATE worker_instances SET failed = failed + counted.number
FROM (SELECT last_worker, count(*) AS number FROM (
    SELECT DISTINCT t.rowid AS task, t.last_worker
    FROM json_each(:rows) AS given CROSS JOIN tasks AS t
        ON t.job_id = json_extract(given.value, '$[0]') AND t.stage = json_extract(given.value, '$[1]')
       AND t.part = json_extract(given.value, '$[2]')
    WHERE t.status = 'running' AND t.token = json_extract(given.value, '$[3]')
) GROUP BY last_worker) AS counted
WHERE worker_instances.id = counted.last_worker;
WITH given (job_id, stage, part, token, retryable, retry_in, error, number) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]'), key
    FROM json_each(:rows)
), held AS MATERIALIZED (
    SELECT t.rowid AS task, given.error, given.retry_in, NOT given.retryable OR t.attempt >= t.max_attempts AS final,
           min(given.number)
    FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
    WHERE t.status = 'running' AND t.token = given.token
    GROUP BY t.rowid
)
UPDATE tasks
SET status = 'error', error = held.error, worker_id = NULL, lease_expires_at = NULL,
    run_after = CASE WHEN NOT held.final THEN :now + held.retry_in END,
    finished_at = CASE WHEN held.final THEN max(:now, coalesce(started_at, :now)) END,
    version = version + 1, actor = 'worker', changed_at = :now,
    reason = CASE WHEN NOT held.final THEN 'will be tried again' END
FROM held
WHERE tasks.rowid = held.task
RETURNING job_id, stage, part, token, typeof(finished_at) <> 'null' AS final, error
