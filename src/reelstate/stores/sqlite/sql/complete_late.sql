-- Accept results after the keeper has reclaimed their tasks, until another worker claims them: then the loss is not
-- counted. Of several reports on one task SQLite would take the last; with min() it returns the columns of the first.
-- Differs from PostgreSQL: the totals of the workers are counted first, in their own statement: a CTE can't write.
UPDATE worker_instances SET done = done + counted.number
FROM (SELECT last_worker, count(*) AS number FROM (
    SELECT DISTINCT t.rowid AS task, t.last_worker
    FROM json_each(:rows) AS given CROSS JOIN tasks AS t
        ON t.job_id = json_extract(given.value, '$[0]') AND t.stage = json_extract(given.value, '$[1]')
       AND t.part = json_extract(given.value, '$[2]')
    WHERE t.token = json_extract(given.value, '$[3]') AND t.status = 'ready' AND t.actor = 'keeper'
) GROUP BY last_worker) AS counted
WHERE worker_instances.id = counted.last_worker;
WITH given (job_id, stage, part, token, result, number) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), key
    FROM json_each(:rows)
), held AS MATERIALIZED (
    SELECT t.rowid AS task, given.result, t.reason IN ('lease expired', 'worker died') AS was_lost, min(given.number)
    FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
    WHERE t.token = given.token AND t.status = 'ready' AND t.actor = 'keeper'
    GROUP BY t.rowid
)
UPDATE tasks
SET status = :status, result = held.result, percent = 100, error = NULL,
    finished_at = max(:now, coalesce(started_at, :now)), version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now, lost = lost - held.was_lost, lost_alone = lost_alone - (held.was_lost AND alone),
    lane = CASE WHEN held.was_lost AND lost - 1 < isolate_after THEN abs(lane) ELSE lane END
FROM held
WHERE tasks.rowid = held.task
RETURNING job_id, stage, part, token, status
