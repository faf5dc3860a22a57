-- Move the waiting tasks of stopped jobs back to `new`. Locked rows are skipped: a claim makes them running (they
-- may finish), and a statement that makes them ready locks the job first.
WITH waiting AS MATERIALIZED (
    SELECT job_id, stage, part FROM reelstate.tasks
    WHERE job_id = ANY (%(job_ids)s::bigint[])
      AND (status = 'ready' OR status = 'error' AND run_after IS NOT NULL)
    ORDER BY job_id, stage, part
    FOR UPDATE SKIP LOCKED
)
UPDATE reelstate.tasks t
SET status = 'new', run_after = NULL, ready_at = NULL,
    version = t.version + 1, actor = %(actor)s, reason = %(reason)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
FROM waiting
WHERE t.job_id = waiting.job_id AND t.stage = waiting.stage AND t.part = waiting.part
