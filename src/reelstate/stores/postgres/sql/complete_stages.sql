-- Add to the counters of stages, once per batch. A sole task is all that its stage has.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(done)s::integer[], %(skipped)s::integer[],
                         %(failed)s::integer[]) AS given (job_id, stage, done, skipped, failed)
), counted AS (
    UPDATE reelstate.stages s
    SET done = s.done + given.done, skipped = s.skipped + given.skipped, failed = s.failed + given.failed
    FROM given
    WHERE s.job_id = given.job_id AND s.stage = given.stage
    RETURNING s.job_id, s.stage, s.total, s.done, s.skipped, s.failed, s.sole
)
SELECT job_id, stage, total, done, skipped, failed, sole FROM counted
UNION ALL
SELECT given.job_id, given.stage, 1, given.done, given.skipped, given.failed, true
FROM given JOIN reelstate.tasks t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = 0
WHERE t.sole
