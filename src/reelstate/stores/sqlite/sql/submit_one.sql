-- A job of a pipeline whose only first stage has one part: insert the task, the job and the stage (unless it is the only
-- one). Inserts and returns nothing where the pipeline is no longer the version that new jobs of the name run (`current`
-- is null where the caller has named a version).
-- Differs from PostgreSQL: no answer is lost here, so a request is never repeated. The task comes first: by it the trigger
-- of the job knows that its event opens the only stage too.
UPDATE ids SET last = max(last, (CAST(strftime('%s', 'now') AS INTEGER) - 1735689600 << 22) - 1) + 1;

WITH parts AS (
    SELECT last AS job_id, 0 AS part, NULL AS input, :sole AS sole FROM ids
    WHERE :current IS NULL OR :pipeline_id = (
        SELECT id FROM pipelines WHERE name = :current ORDER BY pinned DESC, id DESC LIMIT 1)
)
{insert_tasks};

WITH given AS (
    SELECT last AS id, :spec AS spec, :trace AS trace FROM ids
    WHERE EXISTS (SELECT 1 FROM tasks WHERE job_id = ids.last)
)
{insert_jobs};

INSERT INTO stages (job_id, stage, total, opened_at)
SELECT last, :stage, 1, :now FROM ids
WHERE NOT :sole AND EXISTS (SELECT 1 FROM tasks WHERE job_id = ids.last);

SELECT last AS id FROM ids WHERE EXISTS (SELECT 1 FROM tasks WHERE job_id = ids.last)
