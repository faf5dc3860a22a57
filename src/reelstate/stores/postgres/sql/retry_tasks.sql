-- Unfinished tasks of an open stage run again, with the stage's attempts on top. Lost leases stay counted (the task
-- stays isolated), but the count that leads to quarantine starts again.
UPDATE reelstate.tasks t
SET status = 'ready', ready_at = clock.now, run_after = NULL, finished_at = NULL,
    max_attempts = t.attempt + given.attempts, lost_alone = 0,
    version = t.version + 1, actor = %(actor)s, reason = %(reason)s, changed_at = clock.now
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(attempts)s::smallint[]) AS given (job_id, stage, attempts),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.status IN ('new', 'error')
RETURNING t.job_id, t.stage, t.status
