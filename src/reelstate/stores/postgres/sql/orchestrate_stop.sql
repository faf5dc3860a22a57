-- As for rest, but what runs is stopped too, uncharged. A row that somebody holds at this moment must not be missed, and
-- waiting for it could be a deadlock: the flow starts again.
WITH resting AS MATERIALIZED (
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
FROM resting
WHERE t.job_id = resting.job_id AND t.stage = resting.stage AND t.part = resting.part
