-- Move tasks that can't be run back to `new` for a while. The run does not count as an attempt.
UPDATE reelstate.tasks t
SET status = 'new', run_after = clock.now + make_interval(secs => %(delay)s), ready_at = NULL, attempt = t.attempt - 1,
    worker_id = NULL, lease_expires_at = NULL,
    version = t.version + 1, actor = 'worker', reason = %(reason)s, changed_at = clock.now
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[])
         AS given (job_id, stage, part, token),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
  AND t.status = 'running' AND t.token = given.token
