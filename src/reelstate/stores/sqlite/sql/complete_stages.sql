-- Add to the counters of stages, once per batch. A sole task is all that its stage has.
-- Differs from PostgreSQL: a CTE can't write, so these are two statements.
WITH given (job_id, stage, done, skipped, failed) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]')
    FROM json_each(:rows)
)
UPDATE stages
SET done = stages.done + given.done, skipped = stages.skipped + given.skipped, failed = stages.failed + given.failed
FROM given
WHERE stages.job_id = given.job_id AND stages.stage = given.stage;

SELECT s.job_id, s.stage, s.total, s.done, s.skipped, s.failed, s.sole
FROM json_each(:rows) AS given
CROSS JOIN opened_stages AS s
    ON s.job_id = json_extract(given.value, '$[0]') AND s.stage = json_extract(given.value, '$[1]')
