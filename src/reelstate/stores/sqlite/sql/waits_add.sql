-- Let new jobs wait. The keeper looks at each once, because what it waits for may have completed before this commits.
WITH given (job_id, group_id, after_failure) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
INSERT INTO waits (job_id, group_id, after_failure) SELECT job_id, group_id, after_failure FROM given
