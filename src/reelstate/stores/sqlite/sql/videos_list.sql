-- Videos with what their status is read from: the newest completed version that is still there, and the latest job.
-- Where none is wanted that is ready, those with a version that is not complete are looked at, and no others.
-- Differs from PostgreSQL, which plans for the filters it is given: here each way to the videos is written out (by their
-- user, from the newest on, by what is not complete), and the parameters close all but one of them.
WITH wanted AS (
    SELECT * FROM videos INDEXED BY videos_by_user
    WHERE (:statuses IS NULL OR :ready)
      AND :user_id <> '' AND user_id = :user_id AND user_id <> '' AND id BETWEEN :first AND :last
    UNION ALL
    SELECT * FROM videos
    WHERE (:statuses IS NULL OR :ready)
      AND coalesce(:user_id, '') = '' AND id BETWEEN :first AND :last AND (:user_id IS NULL OR user_id = :user_id)
    UNION ALL
    SELECT * FROM videos
    WHERE :statuses IS NOT NULL AND NOT :ready AND (:user_id IS NULL OR user_id = :user_id)
      AND id IN (SELECT resource_id FROM jobs INDEXED BY jobs_by_resource_unready
                 WHERE resource_id IS NOT NULL AND (status <> 'completed' OR reason IS NOT NULL)
                   AND resource_id BETWEEN :first AND :last)
    ORDER BY id DESC
), found AS (
    SELECT v.*,
           (SELECT j.id FROM jobs AS j
            WHERE j.resource_id = v.id AND j.status = 'completed'
              AND NOT EXISTS (SELECT 1 FROM removed_versions AS r WHERE r.job_id = j.id)
            ORDER BY j.id DESC LIMIT 1) AS completed,
           (SELECT max(j.id) FROM jobs AS j WHERE j.resource_id = v.id) AS latest
    FROM wanted AS v
    WHERE :deleted OR v.deleted_at IS NULL
)
SELECT f.id, f.title, f.source, f.user_id, f.pinned, coalesce(f.pinned, f.completed) AS current, f.published, f.latest,
       l.status AS latest_status,
       f.version, f.actor, f.reason, f.created_at, f.changed_at, f.deleted_at,
       CASE WHEN l.status IN ('failed', 'quarantined') THEN l.error END AS error,
       (SELECT CASE WHEN json_type(t.result, '$.duration') IN ('integer', 'real')
                    THEN json_extract(t.result, '$.duration') + 0.0 END
        FROM tasks AS t
        WHERE t.job_id = coalesce(f.pinned, f.completed) AND t.part = 0
          AND t.stage = (SELECT max(s.stage) FROM stages AS s WHERE s.job_id = t.job_id)) AS duration,
       (SELECT CASE WHEN json_type(t.result, '$.poster') = 'text' THEN json_extract(t.result, '$.poster') END
        FROM tasks AS t
        WHERE t.job_id = coalesce(f.pinned, f.completed) AND t.part = 0
          AND t.stage = (SELECT max(s.stage) FROM stages AS s WHERE s.job_id = t.job_id)) AS poster,
       (SELECT CASE WHEN json_type(t.result, '$.rungs') = 'array' THEN json_extract(t.result, '$.rungs') END
        FROM tasks AS t
        WHERE t.job_id = coalesce(f.pinned, f.completed) AND t.part = 0
          AND t.stage = (SELECT max(s.stage) FROM stages AS s WHERE s.job_id = t.job_id)) AS rungs
FROM found AS f LEFT JOIN jobs AS l ON l.id = f.latest
WHERE :statuses IS NULL
   OR CASE WHEN f.completed IS NOT NULL THEN :ready ELSE l.status IN (SELECT value FROM json_each(:statuses)) END
ORDER BY f.id DESC LIMIT :limit
