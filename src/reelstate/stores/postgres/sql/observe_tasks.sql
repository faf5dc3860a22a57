SELECT job_id, stage, part, status, priority, input, run_after, ready_at, claimed_at, started_at, progress_at,
       finished_at, worker_id, lease_expires_at, token, attempt, max_attempts, lost,
       lane < 0 AS isolated, last_worker, step, message,
       percent, checkpoint, result, error, version, actor, reason, changed_at,
       coalesce(lease_expires_at <= coalesce(%(now)s::timestamptz, clock_timestamp()), false) AS lease_expired,
       (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = last_worker) AS worker
FROM reelstate.tasks
WHERE job_id = %(job_id)s AND (stage, part) > (%(after_stage)s, %(after_part)s)
  AND (%(stage)s::smallint IS NULL OR stage = %(stage)s::smallint)
  AND (%(statuses)s::text[] IS NULL OR status = ANY (%(statuses)s::text[]))
ORDER BY job_id, stage, part LIMIT %(limit)s
