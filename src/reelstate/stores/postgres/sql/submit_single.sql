-- Insert jobs that differ in their id, spec and trace only, of a pipeline whose only first stage has one part: the jobs, the
-- stages (unless they are the only ones), the tasks and the events, in one round trip.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now, set_config('reelstate.recorded', 'on', true) AS recorded
), given AS MATERIALIZED (
    SELECT id, spec, trace FROM unnest(%(id)s::bigint[], %(spec)s::text[], %(trace)s::text[]) AS given (id, spec, trace)
), made AS (
    {insert_jobs}
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, opened_at)
    SELECT given.id, %(stage)s, 1, clock.now FROM given CROSS JOIN clock WHERE NOT %(sole)s::boolean
), parts AS (
    SELECT id AS job_id, 0 AS part, NULL::jsonb AS input, %(sole)s::boolean AS sole FROM given
), added AS (
    {insert_tasks}
)
INSERT INTO reelstate.events (entity, job_id, version, target, actor, at)
SELECT CASE WHEN %(sole)s::boolean THEN 'job+stage' ELSE 'job' END, given.id, 1, 'pending', 'user', clock.now
FROM given CROSS JOIN clock
