WITH given (job_id, stage, part, token, level, message, metadata) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]')
    FROM json_each(:rows)
)
INSERT INTO logs (job_id, stage, part, token, at, level, message, metadata)
SELECT job_id, stage, part, token, :now, level, message, metadata FROM given
