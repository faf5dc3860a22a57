WITH given (type, subject) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE alerts SET folded_at = :now
WHERE folded_at IS NULL AND (type, subject) IN (SELECT type, subject FROM given)
RETURNING type, subject, message, job_id
