-- The single tasks of one-part stages.
INSERT INTO reelstate.tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, lease, stall_after,
    timeout, status, run_after, ready_at, changed_at, actor)
SELECT job_id, stage, 0, lane, priority, attempts, max_lost, lease, stall_after, timeout,
       CASE WHEN delay > 0 THEN 'new' ELSE 'ready' END,
       CASE WHEN delay > 0 THEN clock.now + make_interval(secs => delay) END,
       CASE WHEN delay > 0 THEN NULL ELSE clock.now END, clock.now, 'orchestrator'
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(lane)s::integer[], %(priority)s::smallint[],
            %(attempts)s::smallint[], %(max_lost)s::smallint[], %(lease)s::float8[], %(stall_after)s::float8[],
            %(timeout)s::float8[], %(delay)s::float8[])
     AS given (job_id, stage, lane, priority, attempts, max_lost, lease, stall_after, timeout, delay),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
