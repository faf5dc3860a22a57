-- Recompute counters from the tasks; `open` is 0 for a stage that waits to be opened again, null to leave it.
WITH given (job_id, stage, open) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
), counted AS MATERIALIZED (
    SELECT given.job_id, given.stage, given.open, count(t.part) AS total,
           count(*) FILTER (WHERE t.status = 'done') AS done,
           count(*) FILTER (WHERE t.status = 'skipped') AS skipped,
           count(*) FILTER (WHERE t.status = 'error' AND t.run_after IS NULL) AS failed
    FROM (SELECT DISTINCT * FROM given) AS given
    LEFT JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage
    GROUP BY given.job_id, given.stage
)
UPDATE stages
SET open = coalesce(counted.open, stages.open), total = counted.total, done = counted.done,
    skipped = counted.skipped, failed = counted.failed
FROM counted
WHERE stages.job_id = counted.job_id AND stages.stage = counted.stage
