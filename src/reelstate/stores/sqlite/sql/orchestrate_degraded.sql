-- What the results of last stages list as missing: the array `degraded`.
WITH given (job_id, stage) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
SELECT t.job_id, json_extract(t.result, '$.degraded') AS degraded
FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = 0
WHERE json_type(t.result, '$.degraded') = 'array'
ORDER BY t.job_id, t.stage
