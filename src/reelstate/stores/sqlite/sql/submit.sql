-- Insert jobs that differ in their id, spec and trace only.
WITH given (id, spec, trace) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
{insert_jobs}
