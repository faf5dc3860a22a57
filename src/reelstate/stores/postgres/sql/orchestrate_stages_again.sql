-- Open stages again that a retry has closed. `total` counts every task a stage ever had: parts that the new fan-out
-- no longer has are skipped.
UPDATE reelstate.stages s
SET open = true, version = s.version + 1, opened_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
    total = greatest(s.total, given.total), done = 0, failed = 0, skipped = greatest(s.total - given.total, 0)
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(total)s::integer[]) AS given (job_id, stage, total)
WHERE s.job_id = given.job_id AND s.stage = given.stage AND NOT s.open
