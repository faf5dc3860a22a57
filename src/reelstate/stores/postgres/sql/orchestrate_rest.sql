-- Tasks of jobs that came to rest wait as `new`. A row that somebody holds at this moment is left to them:
-- a claim makes it running (it may finish), and whoever makes it ready asks for the job's lock first.
WITH resting AS MATERIALIZED (
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
FROM resting
WHERE t.job_id = resting.job_id AND t.stage = resting.stage AND t.part = resting.part
