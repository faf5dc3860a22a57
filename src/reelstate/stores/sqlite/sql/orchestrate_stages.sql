-- Open stages for the first time; a trigger writes the event of each.
WITH given (job_id, stage, total, sole) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT job_id, stage, total, sole, :now FROM given
