-- Open one stage in many jobs for the first time; a trigger writes the events.
INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT value, :stage, :total, :sole, :now FROM json_each(:job_ids)
