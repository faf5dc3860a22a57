-- Add to the counters of stages, once per batch.
WITH given (job_id, stage, done, skipped, failed) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]')
    FROM json_each(:rows)
)
UPDATE stages
SET done = stages.done + given.done, skipped = stages.skipped + given.skipped, failed = stages.failed + given.failed
FROM given
WHERE stages.job_id = given.job_id AND stages.stage = given.stage
RETURNING job_id, stage, total, done, skipped, failed, sole
