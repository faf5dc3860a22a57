-- Open stages again that a retry has closed. `total` counts every task a stage ever had: parts that the new fan-out
-- no longer has are skipped.
UPDATE stages
SET open = 1, version = version + 1, opened_at = :now, total = max(total, :total), done = 0, failed = 0,
    skipped = max(total - :total, 0)
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND stage = :stage AND NOT open
