-- Make the tasks of reopened stages without a fan-out ready. A task of a stopped job may be out of attempts; it gets those
-- of the stage once more.
UPDATE reelstate.tasks t
SET status = 'ready', lane = sign(lane) * %(lane)s, ready_at = clock.now, run_after = NULL,
    max_attempts = greatest(t.max_attempts, t.attempt + %(attempts)s), version = t.version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = ANY (%(job_ids)s::bigint[]) AND t.stage = %(stage)s AND t.status = 'new'
