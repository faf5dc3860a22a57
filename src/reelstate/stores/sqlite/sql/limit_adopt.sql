-- Count running tasks in other keys: the ones before are subtracted as those of a task that has ended.
INSERT INTO limit_ended (queue)
WITH given (job_id, stage, part, token, queue, before) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]')
    FROM json_each(:rows)
)
SELECT given.before
FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
WHERE t.token = given.token AND t.status = 'running' AND t.queue IS given.before AND given.before IS NOT NULL;
UPDATE tasks SET queue = given.queue
FROM (SELECT json_extract(value, '$[0]') AS job_id, json_extract(value, '$[1]') AS stage, json_extract(value, '$[2]') AS part,
             json_extract(value, '$[3]') AS token, json_extract(value, '$[4]') AS queue, json_extract(value, '$[5]') AS before
      FROM json_each(:rows)) AS given
WHERE tasks.job_id = given.job_id AND tasks.stage = given.stage AND tasks.part = given.part AND tasks.token = given.token
  AND tasks.status = 'running' AND tasks.queue IS given.before
RETURNING tasks.queue
