-- The running tasks of a job, or of a stage or part of it, those with the oldest progress first. The index of leases has
-- the running tasks of all jobs, as many as the workers have slots. `expired` is the condition of `reclaim`.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), held AS MATERIALIZED (
    SELECT t.stage, t.part, t.worker_id, t.attempt, t.max_attempts, t.percent, t.lease_expires_at, t.progress_at,
           t.claimed_at, t.timeout, t.stall_after, t.lane, t.status
    FROM reelstate.tasks t
    WHERE t.worker_id IS NOT NULL AND t.job_id = %(job_id)s
)
SELECT t.stage, t.part, i.name AS worker, t.attempt, t.max_attempts, t.percent, t.lane < 0 AS isolated,
       t.lease_expires_at < clock.now AS expired,
       CASE WHEN t.claimed_at + make_interval(secs => t.timeout) <= clock.now THEN 'timed out'
            WHEN t.progress_at + make_interval(secs => t.stall_after) <= clock.now THEN 'stalled'
            ELSE 'lease expired' END AS cause,
       extract(epoch FROM clock.now - t.progress_at)::float8 AS progress_age,
       extract(epoch FROM t.lease_expires_at - clock.now)::float8 AS lease_left,
       t.lease_expires_at
FROM held t CROSS JOIN clock
LEFT JOIN reelstate.worker_instances i ON i.id = t.worker_id
WHERE t.status = 'running' AND t.stage = ANY (%(stages)s::smallint[])
  AND (%(part)s::integer IS NULL OR t.part = %(part)s::integer)
ORDER BY t.progress_at, t.stage, t.part LIMIT %(cap)s
