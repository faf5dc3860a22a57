-- Admitted tasks whose starts are counted: each counts from now on, until the period after its start has passed.
WITH given (key, job_id, stage, part) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]')
    FROM json_each(:rows)
)
INSERT INTO limit_starts (key, job_id, stage, part) SELECT key, job_id, stage, part FROM given
