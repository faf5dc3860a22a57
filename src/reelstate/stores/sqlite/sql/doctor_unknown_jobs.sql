-- Every stored status but `completed`, found by skipping through the index: cheap for any number of jobs.
WITH RECURSIVE statuses (status) AS (
    SELECT min(status) FROM jobs WHERE status <> 'completed'
    UNION ALL
    SELECT (SELECT min(j.status) FROM jobs AS j WHERE j.status > statuses.status AND j.status <> 'completed')
    FROM statuses WHERE statuses.status IS NOT NULL
)
SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'status ' || quote(j.status) AS detail
FROM statuses CROSS JOIN jobs AS j ON j.status = statuses.status AND j.status <> 'completed'
WHERE statuses.status NOT IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing',
    'uploading_outputs', 'completed', 'failed', 'quarantined', 'cancelled')
ORDER BY j.id LIMIT :limit
