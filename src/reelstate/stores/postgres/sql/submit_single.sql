-- Insert jobs that differ in their id and spec only, of a pipeline whose only first stage has one part: the job, the
-- stage and the task, in one round trip.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), made AS (
    INSERT INTO reelstate.jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at,
        spec)
    SELECT id, %(pipeline_id)s, %(user_id)s, %(phase)s, %(priority)s, 'user',
           CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END, clock.now, clock.now,
           spec::jsonb
    FROM unnest(%(id)s::bigint[], %(spec)s::text[]) AS given (id, spec), clock
    RETURNING id
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
    SELECT id, %(stage)s, 1, %(sole)s, clock.now FROM made, clock
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
