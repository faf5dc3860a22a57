-- A job of a pipeline whose only first stage has one part: insert the job, the stage and the task in one round trip.
-- Inserts and returns nothing if run again for the same request, or where the pipeline is no longer the version that new
-- jobs of the name run (`current` is null where the caller has named a version).
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), made AS (
    INSERT INTO reelstate.jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at,
        spec, request)
    SELECT reelstate.new_id(), %(pipeline_id)s, %(user_id)s, %(phase)s, %(priority)s, 'user',
           CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END, clock.now, clock.now,
           %(spec)s::text::jsonb, %(request)s
    FROM clock
    WHERE %(current)s::text IS NULL OR %(pipeline_id)s = (
        SELECT id FROM reelstate.pipelines WHERE name = %(current)s ORDER BY pinned DESC, id DESC LIMIT 1)
    ON CONFLICT (request) WHERE request IS NOT NULL DO NOTHING
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
RETURNING job_id AS id
