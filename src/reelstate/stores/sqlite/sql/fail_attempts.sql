-- The attempts and pipelines of tasks, for the backoff; they can't change while the token holds.
WITH given (job_id, stage, part, token) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
SELECT t.job_id, t.stage, t.part, t.attempt, j.pipeline_id
FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
JOIN jobs AS j ON j.id = t.job_id
WHERE t.status = 'running' AND t.token = given.token
