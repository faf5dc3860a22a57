UPDATE reelstate.tasks t
SET status = 'cancelled', worker_id = NULL, lease_expires_at = NULL, run_after = NULL, finished_at = greatest(clock.now, t.started_at),
    version = t.version + 1, actor = %(actor)s, reason = %(reason)s, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = ANY (%(job_ids)s::bigint[]) AND t.status IN ('new', 'ready', 'running', 'error')
