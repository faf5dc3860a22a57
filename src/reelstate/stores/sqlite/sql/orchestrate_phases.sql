-- Set the phase of jobs that are still pending; it is shown from the next claim on.
-- The plus keeps SQLite from looking through all pending jobs.
WITH given (id, phase) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE jobs SET phase = given.phase
FROM given
WHERE jobs.id = given.id AND +jobs.status = 'pending'
