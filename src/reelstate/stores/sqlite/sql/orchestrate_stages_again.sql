-- Open stages again that a retry has closed. `total` counts every task a stage ever had: parts that the new fan-out
-- no longer has are skipped.
WITH given (job_id, stage, total) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
UPDATE stages
SET open = 1, version = version + 1, opened_at = :now, total = max(stages.total, given.total), done = 0, failed = 0,
    skipped = max(stages.total - given.total, 0)
FROM given
WHERE stages.job_id = given.job_id AND stages.stage = given.stage AND NOT stages.open
