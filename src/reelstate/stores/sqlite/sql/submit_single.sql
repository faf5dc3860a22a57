-- Insert jobs that differ in their id, spec and trace only, of a pipeline whose only first stage has one part: the tasks, the jobs
-- and the stages (unless they are the only ones).
-- Differs from PostgreSQL: a CTE can't write, so these are several statements. The task comes first: by it the trigger of
-- the job knows that its event opens the only stage too.
WITH parts AS (
    SELECT json_extract(value, '$[0]') AS job_id, 0 AS part, NULL AS input, :sole AS sole FROM json_each(:rows)
)
{insert_tasks};

WITH given (id, spec, trace) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
{insert_jobs};

INSERT INTO stages (job_id, stage, total, opened_at)
SELECT json_extract(value, '$[0]'), :stage, 1, :now FROM json_each(:rows) WHERE NOT :sole
