-- Open one stage in many jobs for the first time; a trigger writes the events.
INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
SELECT job_id, %(stage)s, %(total)s, %(sole)s, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(job_ids)s::bigint[]) AS job_id
