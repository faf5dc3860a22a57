-- Every stored status but `completed`, found by skipping through the index: cheap for any number of jobs.
WITH RECURSIVE statuses AS (
    (SELECT status FROM reelstate.jobs WHERE status <> 'completed' ORDER BY status LIMIT 1)
    UNION ALL
    SELECT (SELECT j.status FROM reelstate.jobs j
            WHERE j.status > statuses.status AND j.status <> 'completed' ORDER BY j.status LIMIT 1)
    FROM statuses WHERE statuses.status IS NOT NULL
)
SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'status ' || quote_literal(j.status) AS detail
FROM statuses JOIN reelstate.jobs j ON j.status = statuses.status AND j.status <> 'completed'
WHERE statuses.status NOT IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing',
    'uploading_outputs', 'completed', 'failed', 'quarantined', 'cancelled')
ORDER BY j.id LIMIT %(limit)s
