-- Open stages again that a retry has closed. `total` counts every task a stage ever had: parts that the new fan-out
-- no longer has are skipped.
UPDATE reelstate.stages s
SET open = true, version = s.version + 1, opened_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
    total = greatest(s.total, %(total)s), done = 0, failed = 0, skipped = greatest(s.total - %(total)s, 0)
WHERE s.job_id = ANY (%(job_ids)s::bigint[]) AND s.stage = %(stage)s AND NOT s.open
