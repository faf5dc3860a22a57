-- The tasks of stages that were opened again and have no fan-out to be made anew. One that was taken back from a job
-- at rest may have used up its attempts; it gets the stage's once more.
UPDATE reelstate.tasks t
SET status = 'ready', lane = sign(lane) * %(lane)s, ready_at = clock.now, run_after = NULL,
    max_attempts = greatest(t.max_attempts, t.attempt + %(attempts)s), version = t.version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = ANY (%(job_ids)s::bigint[]) AND t.stage = %(stage)s AND t.status = 'new'
