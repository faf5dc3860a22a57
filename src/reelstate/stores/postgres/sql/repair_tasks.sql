-- Set the status of tasks, and every other field as that status requires.
UPDATE reelstate.tasks t
SET status = given.status,
    worker_id = CASE WHEN given.status = 'running' THEN t.worker_id END,
    lease_expires_at = CASE WHEN given.status = 'running' THEN t.lease_expires_at END,
    attempt = greatest(t.attempt, 0),
    max_attempts = greatest(t.max_attempts, t.attempt),
    token = greatest(t.token, (SELECT max(e.token) FROM reelstate.events e
                               WHERE e.job_id = t.job_id AND e.stage = t.stage AND e.part = t.part)),
    run_after = CASE WHEN given.status = 'new' OR given.status = 'error' AND t.finished_at IS NULL THEN t.run_after END,
    ready_at = CASE WHEN given.status = 'ready' THEN coalesce(t.ready_at, clock.now) ELSE t.ready_at END,
    finished_at = CASE WHEN given.status IN ('done', 'skipped', 'cancelled')
                         OR given.status = 'error' AND (t.run_after IS NULL OR t.finished_at IS NOT NULL)
                       THEN greatest(coalesce(t.finished_at, clock.now), t.started_at) END,
    version = t.version + 1, actor = 'doctor', reason = %(reason)s, changed_at = clock.now
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(status)s::text[])
         AS given (job_id, stage, part, status),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
RETURNING t.job_id, t.stage, t.part, t.version, t.status
