-- The single tasks of a one-part stage of many jobs.
INSERT INTO reelstate.tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, lease, stall_after, timeout,
    status, run_after, ready_at, changed_at, actor)
SELECT job_id, %(stage)s, 0, %(lane)s, %(priority)s, %(attempts)s, %(max_lost)s, %(lease)s, %(stall_after)s,
       %(timeout)s, CASE WHEN %(delay)s > 0 THEN 'new' ELSE 'ready' END,
       CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END,
       CASE WHEN %(delay)s > 0 THEN NULL ELSE clock.now END, clock.now, 'orchestrator'
FROM unnest(%(job_ids)s::bigint[]) AS job_id,
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
