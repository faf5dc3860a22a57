-- Finished parts of a stage run again from the beginning: at once, or (`target` is new) when the stages before it are
-- done.
UPDATE reelstate.tasks t
SET status = %(target)s, ready_at = CASE WHEN %(target)s = 'ready' THEN clock.now END, finished_at = NULL,
    run_after = NULL, max_attempts = t.attempt + %(attempts)s, lost_alone = 0, percent = 0, checkpoint = NULL, result = NULL, step = NULL,
    message = NULL, error = NULL,
    version = t.version + 1, actor = %(actor)s, reason = %(reason)s, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = %(job_id)s AND t.stage = %(stage)s AND t.part BETWEEN %(first)s AND %(last)s
  AND (t.status IN ('done', 'skipped', 'error') OR %(target)s = 'new' AND t.status = 'ready')
RETURNING t.part
