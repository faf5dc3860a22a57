-- Open a one-part stage in many jobs for the first time: insert the stage and its task.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
    SELECT job_id, %(stage)s, 1, %(sole)s, clock.now FROM unnest(%(job_ids)s::bigint[]) AS job_id, clock
    RETURNING job_id
)
INSERT INTO reelstate.tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after, flag_after,
    lease, stall_after, timeout,
    status, run_after, ready_at, changed_at, actor)
SELECT job_id, %(stage)s, 0, %(lane)s, %(priority)s, %(attempts)s, %(max_lost)s, %(isolate_after)s, %(flag_after)s,
       %(lease)s, %(stall_after)s,
       %(timeout)s, CASE WHEN %(delay)s > 0 THEN 'new' ELSE 'ready' END,
       CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END,
       CASE WHEN %(delay)s > 0 THEN NULL ELSE clock.now END, clock.now, 'orchestrator'
FROM opened, clock
