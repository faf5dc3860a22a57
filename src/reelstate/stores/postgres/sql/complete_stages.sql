-- Add to the counters of stages, once per batch.
UPDATE reelstate.stages s
SET done = s.done + given.done, skipped = s.skipped + given.skipped, failed = s.failed + given.failed
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(done)s::integer[], %(skipped)s::integer[],
            %(failed)s::integer[]) AS given (job_id, stage, done, skipped, failed)
WHERE s.job_id = given.job_id AND s.stage = given.stage
RETURNING s.job_id, s.stage, s.total, s.done, s.skipped, s.failed, s.sole
