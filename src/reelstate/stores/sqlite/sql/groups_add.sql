-- Add new jobs to groups.
WITH given (job_id, group_id) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO group_jobs (job_id, group_id) SELECT job_id, group_id FROM given
