-- Open stages, or open again those that a retry has closed; a trigger writes the event of each.
-- `total` counts every task the stage ever had: parts that the new fan-out no longer has are skipped.
INSERT INTO reelstate.stages (job_id, stage, total, opened_at)
SELECT job_id, stage, total, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(total)s::integer[]) AS given (job_id, stage, total)
ON CONFLICT (job_id, stage) DO UPDATE
SET open = true, version = stages.version + 1, opened_at = excluded.opened_at,
    total = greatest(stages.total, excluded.total), done = 0, failed = 0,
    skipped = greatest(stages.total - excluded.total, 0)
WHERE NOT stages.open
