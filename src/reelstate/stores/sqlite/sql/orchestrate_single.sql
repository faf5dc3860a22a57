-- Open a one-part stage in many jobs for the first time: insert the stage and its task.
INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT value, :stage, 1, :sole, :now FROM json_each(:job_ids);

WITH parts AS (
    SELECT value AS job_id, 0 AS part, NULL AS input, 0 AS sole FROM json_each(:job_ids)
)
{insert_tasks}
