WITH given (job_id, stage) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
SELECT given.job_id, given.stage
FROM given
WHERE EXISTS (
    SELECT 1 FROM tasks AS t WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.status = 'running')
ORDER BY given.job_id, given.stage
