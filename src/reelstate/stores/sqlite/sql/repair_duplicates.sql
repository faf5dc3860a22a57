-- Of several rows for one part the one with the highest token stays.
WITH given (job_id, stage, part) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
), ranked AS (
    SELECT t.rowid AS address,
           row_number() OVER (PARTITION BY job_id, stage, part ORDER BY token DESC, version DESC, t.rowid) AS rank
    FROM tasks AS t WHERE (job_id, stage, part) IN (SELECT * FROM given)
)
DELETE FROM tasks WHERE rowid IN (SELECT address FROM ranked WHERE rank > 1)
