-- Differs from PostgreSQL, which plans for the given filters: here each access path is written out (by user, by status,
-- newest first), and the parameters disable all but one. The first line of each WHERE has no column and no subquery, so
-- that it is evaluated once and a disabled path reads nothing.
-- The index by user holds the jobs that have one, the index by status all but the completed.
WITH found (id) AS (
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY jobs_by_user
        WHERE :user_id <> ''
          AND user_id = :user_id AND user_id <> '' AND id < :before
          AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
          AND (NOT :flagged OR flagged IS NOT NULL)
          AND (:pipeline IS NULL OR pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline))
        ORDER BY id DESC LIMIT :limit)
    UNION ALL
    SELECT j.id
    FROM json_each(:statuses) AS wanted CROSS JOIN jobs AS j
    WHERE coalesce(:user_id, '') = '' AND instr(:statuses, '"completed"') = 0
      AND j.id IN (
        SELECT r.id FROM jobs AS r INDEXED BY jobs_by_status
        WHERE r.status = wanted.value AND r.status <> 'completed' AND r.id < :before
          AND (NOT :flagged OR r.flagged IS NOT NULL)
          AND (:pipeline IS NULL OR r.pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline))
          AND (:user_id IS NULL OR r.user_id = :user_id)
        ORDER BY r.id DESC LIMIT :limit)
    UNION ALL
    SELECT * FROM (
        SELECT id FROM jobs
        WHERE coalesce(:user_id, '') = '' AND coalesce(instr(:statuses, '"completed"'), 1) > 0
          AND id < :before
          AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
          AND (NOT :flagged OR flagged IS NOT NULL)
          AND (:pipeline IS NULL OR pipeline_id IN (SELECT id FROM pipelines WHERE name = :pipeline))
          AND (:user_id IS NULL OR user_id = :user_id)
        ORDER BY id DESC LIMIT :limit)
)
SELECT {job_columns}
FROM jobs AS j LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE j.id IN (SELECT id FROM found)
ORDER BY j.id DESC LIMIT :limit
