-- Move tasks that have arrived to their queue, or to their lane where no limit selects them.
WITH given (job_id, stage, part, queue) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]')
    FROM json_each(:rows)
)
UPDATE tasks
SET lane = CASE WHEN tasks.lane > 0 THEN 1 ELSE -1 END * coalesce(given.queue, abs(tasks.lane) - 268435456), queue = given.queue
FROM given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.part = given.part
  AND tasks.status = 'ready' AND abs(tasks.lane) BETWEEN 268435457 AND 536870911
RETURNING tasks.job_id, tasks.queue
