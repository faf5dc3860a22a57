-- Insert findings that are new. (A SELECT before ON CONFLICT must have a WHERE.)
WITH given (name, job_id, stage, part, subject) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]')
    FROM json_each(:rows)
)
INSERT INTO findings (name, job_id, stage, part, subject, found_at)
SELECT name, job_id, stage, part, subject, :now FROM given WHERE true
ON CONFLICT DO NOTHING
RETURNING name, job_id, stage, part, subject
