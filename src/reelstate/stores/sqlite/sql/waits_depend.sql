-- Store what new jobs wait for.
WITH given (job_id, kind, target) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
INSERT INTO dependencies (job_id, kind, target) SELECT job_id, kind, target FROM given
