-- The jobs that the states of these stages belong to: insert those that are missing, renew deleted ones, and update those
-- whose stage has other parts than before.
WITH given (job_id, stage) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO state_jobs (job_id, tasks, tags, created_at)
SELECT s.job_id || '.' || json_extract(p.graph, '$.stages[' || s.stage || '].name'), s.total,
       coalesce(json_extract(p.graph, '$.stages[' || s.stage || '].tags'), '[]'), :now
FROM given
JOIN opened_stages AS s ON s.job_id = given.job_id AND s.stage = given.stage
JOIN jobs AS j ON j.id = s.job_id
JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE true
ON CONFLICT (job_id) DO UPDATE
SET tasks = excluded.tasks, tags = excluded.tags, deleted_at = NULL,
    generation = state_jobs.generation + CASE WHEN state_jobs.deleted_at IS NULL THEN 0 ELSE 1 END
WHERE state_jobs.deleted_at IS NOT NULL OR state_jobs.tasks <> excluded.tasks OR state_jobs.tags <> excluded.tags;

WITH given (job_id, stage) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
SELECT given.job_id, given.stage, given.job_id || '.' || json_extract(p.graph, '$.stages[' || given.stage || '].name') AS name
FROM given
JOIN jobs AS j ON j.id = given.job_id
JOIN pipelines AS p ON p.id = j.pipeline_id
