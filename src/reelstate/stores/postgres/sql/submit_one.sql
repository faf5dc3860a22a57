-- A job of a pipeline whose only first stage has one part: insert the job, the stage (unless it is the only one), the
-- task and the events in one round trip.
-- Inserts and returns nothing if run again for the same request, or where the pipeline is no longer the version that new
-- jobs of the name run (`current` is null where the caller has named a version).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now, set_config('reelstate.recorded', 'on', true) AS recorded
), given AS MATERIALIZED (
    SELECT reelstate.new_id() AS id, %(spec)s::text AS spec, %(trace)s::text AS trace
    WHERE %(current)s::text IS NULL OR %(pipeline_id)s = (
        SELECT id FROM reelstate.pipelines WHERE name = %(current)s ORDER BY pinned DESC, id DESC LIMIT 1)
), made AS (
    {insert_jobs}
    ON CONFLICT (request) WHERE request IS NOT NULL DO NOTHING
    RETURNING id
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, opened_at)
    SELECT made.id, %(stage)s, 1, clock.now FROM made CROSS JOIN clock WHERE NOT %(sole)s::boolean
), parts AS (
    SELECT id AS job_id, 0 AS part, NULL::jsonb AS input, %(sole)s::boolean AS sole FROM made
), added AS (
    {insert_tasks}
)
INSERT INTO reelstate.events (entity, job_id, version, target, actor, at)
SELECT CASE WHEN %(sole)s::boolean THEN 'job+stage' ELSE 'job' END, made.id, 1, 'pending', 'user', clock.now
FROM made CROSS JOIN clock
RETURNING job_id AS id
