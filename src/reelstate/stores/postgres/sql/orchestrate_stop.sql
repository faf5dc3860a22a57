-- As `orchestrate_reset`, and stop running tasks too; their run does not count as an attempt. A locked row
-- must not be skipped, and waiting for it could deadlock: the flow starts again.
WITH waiting AS MATERIALIZED (
    SELECT job_id, stage, part FROM reelstate.tasks
    WHERE job_id = ANY (%(job_ids)s::bigint[])
      AND (status = 'ready' OR status = 'error' AND run_after IS NOT NULL OR status = 'running')
    ORDER BY job_id, stage, part
    FOR UPDATE NOWAIT
)
UPDATE reelstate.tasks t
SET status = 'new', run_after = NULL, ready_at = NULL, worker_id = NULL, lease_expires_at = NULL,
    attempt = t.attempt - CASE WHEN t.status = 'running' THEN 1 ELSE 0 END,
    version = t.version + 1, actor = %(actor)s, reason = %(reason)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
FROM waiting
WHERE t.job_id = waiting.job_id AND t.stage = waiting.stage AND t.part = waiting.part
