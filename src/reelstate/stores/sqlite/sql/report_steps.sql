WITH given (job_id, stage, part, token, step, type, started, argv, exit_code, seconds, output) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]'), json_extract(value, '$[7]'), json_extract(value, '$[8]'),
           json_extract(value, '$[9]'), json_extract(value, '$[10]')
    FROM json_each(:rows)
)
INSERT INTO steps (job_id, stage, part, token, number, at, type, started_at, argv, exit_code, seconds, output)
SELECT job_id, stage, part, token, step, :now, type, min(:now, coalesce(started, :now - seconds)), argv,
       exit_code, seconds, output
FROM given WHERE true
ON CONFLICT (job_id, stage, part, token, number) DO NOTHING
