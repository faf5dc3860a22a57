WITH given (job_id, stage, part) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
DELETE FROM tasks WHERE (job_id, stage, part) IN (SELECT * FROM given)
RETURNING job_id, stage, part, version, status
