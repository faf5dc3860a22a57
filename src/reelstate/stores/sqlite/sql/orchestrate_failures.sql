-- The first part of each stage that failed for good, with its error, and how many did: with min() SQLite returns the
-- columns of the row that has the minimum.
WITH given (job_id, stage) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
SELECT t.job_id, t.stage, min(t.part) AS part, t.error, count(*) AS failed
FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage
WHERE t.status = 'error' AND t.run_after IS NULL
GROUP BY t.job_id, t.stage
