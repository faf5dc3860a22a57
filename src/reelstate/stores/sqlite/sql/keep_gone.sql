-- Delete findings that are gone.
WITH given (name, job_id, stage, part, subject) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]')
    FROM json_each(:rows)
)
DELETE FROM findings WHERE (name, job_id, stage, part, subject) NOT IN (SELECT * FROM given)
RETURNING name, job_id, stage, part, subject
