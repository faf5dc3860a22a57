-- Flag jobs by the run that has reported no progress for the longest time; clear the flags of jobs without such a run.
-- `stall` is the deployment's limit for runs whose stage sets none.
-- Differs from PostgreSQL: without DISTINCT ON the first run of a job has number 1 in its window.
WITH stalled AS MATERIALIZED (
    SELECT job_id, stage, part, coalesce(flag_after, :stall) AS seconds,
           row_number() OVER (PARTITION BY job_id ORDER BY progress_at, stage, part) AS number
    FROM tasks INDEXED BY tasks_running
    WHERE status = 'running' AND stall_after IS NULL AND progress_at + coalesce(flag_after, :stall) <= :now
), reasons AS MATERIALIZED (
    SELECT s.job_id, 'task ' || s.job_id || '/' || s.stage || '/' || s.part || ' of stage '
           || coalesce(json_extract(p.graph, '$.stages[' || s.stage || '].name'), '#' || s.stage)
           || ' has reported no progress for ' || CAST(round(s.seconds) AS INTEGER) || ' s' AS flagged
    FROM stalled AS s JOIN jobs AS j ON j.id = s.job_id LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
    WHERE s.number = 1
), changed AS MATERIALIZED (
    SELECT j.id, reasons.flagged
    FROM jobs AS j LEFT JOIN reasons ON reasons.job_id = j.id
    WHERE j.id IN (SELECT id FROM jobs INDEXED BY jobs_flagged WHERE flagged IS NOT NULL UNION ALL SELECT job_id FROM reasons)
      AND j.flagged IS NOT reasons.flagged
      AND j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
      AND (:only IS NULL OR j.id IN (SELECT value FROM json_each(:only)))
      AND j.id NOT IN (SELECT value FROM json_each(:without))
    ORDER BY j.id LIMIT :limit
)
UPDATE jobs
SET flagged = changed.flagged, flagged_at = CASE WHEN changed.flagged IS NOT NULL THEN :now END,
    version = version + 1, actor = 'keeper', reason = coalesce('flagged: ' || changed.flagged, 'flag cleared'),
    changed_at = :now
FROM changed
WHERE jobs.id = changed.id
RETURNING id, flagged
