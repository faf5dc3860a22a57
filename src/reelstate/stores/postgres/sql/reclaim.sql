-- Take back leases that expired or whose worker is dead, and decide on each task, in one statement. A stall and a timeout
-- count as an attempt, but not as a lost worker. A task that has lost too many workers, the last one while it ran alone,
-- is a poison task.
-- With a `gap`, no expiry counts while no keeper was seen for that long, or for a third of the task's lease. That is checked
-- here, because the database may have been unreachable since the sweep began. After such a gap a lease that expired since
-- then has its own length of grace; a timeout has none, for an outage does not cause it.
-- `stall` is the deployment's limit for runs whose stage sets none: they end as stalled though their lease is in force.
-- Later statements count in the stages and move the jobs, so their rows are locked here, in the order of all locks.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), expired AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part,
           CASE WHEN t.worker_id = ANY (%(dead)s::bigint[]) THEN 'worker died'
                WHEN t.claimed_at + make_interval(secs => t.timeout) <= clock.now THEN 'timed out'
                WHEN t.progress_at + make_interval(secs => t.stall_after) <= clock.now THEN 'stalled'
                WHEN t.lease_expires_at >= clock.now THEN 'stalled'
                ELSE 'lease expired' END AS cause
    FROM reelstate.tasks t, clock
    WHERE t.worker_id IS NOT NULL AND t.status = 'running'
      AND (t.worker_id = ANY (%(dead)s::bigint[]) OR %(expired)s
           AND (t.lease_expires_at < clock.now
                OR t.stall_after IS NULL AND t.flag_after IS NULL
                   AND t.progress_at + make_interval(secs => %(stall)s::float8) <= clock.now)
           AND (%(gap)s::float8 IS NULL OR EXISTS (
               SELECT FROM reelstate.keeper k
               WHERE k.seen_at >= clock.now - make_interval(secs => least(%(gap)s::float8, t.lease / 3))
                 AND NOT coalesce(k.grace_started_at <= clock.now
                                  AND clock.now < least(k.grace_until, k.grace_started_at + make_interval(secs => t.lease))
                                  AND t.lease_expires_at >= coalesce(k.gap_since, '-infinity')
                                  AND (t.claimed_at + make_interval(secs => t.timeout) <= clock.now) IS NOT true, false))))
      AND (%(only)s::bigint[] IS NULL OR t.job_id = ANY (%(only)s::bigint[])) AND t.job_id <> ALL (%(without)s::bigint[])
    ORDER BY t.job_id, t.stage, t.part LIMIT %(limit)s
    FOR UPDATE OF t SKIP LOCKED
), counting AS MATERIALIZED (
    SELECT s.job_id
    FROM (SELECT DISTINCT job_id, stage FROM expired) AS e JOIN reelstate.stages s USING (job_id, stage)
    ORDER BY s.job_id, s.stage FOR UPDATE OF s
), parents AS MATERIALIZED (
    SELECT id, status, pipeline_id, trace FROM reelstate.jobs
    WHERE id IN (SELECT job_id FROM expired) AND (SELECT count(*) FROM counting) >= 0 ORDER BY id FOR UPDATE
), decided AS MATERIALIZED (
    SELECT expired.*,
           CASE WHEN parents.status IN ('completed', 'cancelled') THEN 'cancelled'
                WHEN parents.status IN ('failed', 'quarantined') THEN 'new'
                WHEN t.attempt >= t.max_attempts
                  OR expired.cause IN ('lease expired', 'worker died') AND t.alone
                     AND t.lost_alone + 1 >= t.max_lost THEN 'error'
                ELSE 'ready' END AS status,
           expired.cause IN ('lease expired', 'worker died') AND t.alone
             AND (t.lost_alone + 1 >= t.max_lost
                  OR t.attempt >= t.max_attempts AND t.lost + 1 >= t.max_lost) AS poison,
           parents.pipeline_id, parents.trace
    FROM expired JOIN parents ON parents.id = expired.job_id
    JOIN reelstate.tasks t USING (job_id, stage, part)
)
UPDATE reelstate.tasks t
SET status = decided.status, worker_id = NULL, lease_expires_at = NULL,
    lane = CASE WHEN decided.cause IN ('lease expired', 'worker died') AND t.lost + 1 >= t.isolate_after
                THEN -abs(t.lane) ELSE t.lane END,
    lost = t.lost + CASE WHEN decided.cause IN ('lease expired', 'worker died') THEN 1 ELSE 0 END,
    lost_alone = t.lost_alone + CASE WHEN decided.cause IN ('lease expired', 'worker died') AND t.alone THEN 1 ELSE 0 END,
    ready_at = CASE WHEN decided.status = 'ready' THEN clock.now ELSE t.ready_at END,
    finished_at = CASE WHEN decided.status IN ('error', 'cancelled') THEN greatest(clock.now, t.started_at) END,
    error = CASE WHEN decided.status = 'error' THEN jsonb_build_object(
        'type', 'lost', 'message', decided.cause, 'worker', t.worker_id, 'attempt', t.attempt,
        'step', t.step, 'last_message', t.message) ELSE t.error END,
    version = t.version + 1, actor = 'keeper', reason = decided.cause, changed_at = clock.now
FROM decided, clock
WHERE t.job_id = decided.job_id AND t.stage = decided.stage AND t.part = decided.part
RETURNING t.job_id, t.stage, t.part, t.status, decided.poison, t.error, decided.cause, t.token, t.attempt, t.last_worker,
          extract(epoch FROM clock.now - t.claimed_at)::float8 AS ran, decided.pipeline_id, decided.trace
