-- Insert jobs that differ in their id and spec only.
WITH given (id, spec) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
{insert_jobs}
