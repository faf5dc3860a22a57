-- Open a one-part stage in many jobs for the first time: insert the stage and its task.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
    SELECT job_id, %(stage)s, 1, %(sole)s, clock.now FROM unnest(%(job_ids)s::bigint[]) AS job_id, clock
    RETURNING job_id
), parts AS (
    SELECT job_id, 0 AS part, NULL::jsonb AS input, false AS sole FROM opened
)
{insert_tasks}
