-- Open stages for the first time; a trigger writes the event of each.
INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
SELECT job_id, stage, total, sole, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(total)s::integer[], %(sole)s::boolean[])
     AS given (job_id, stage, total, sole)
