-- Every status there is but `completed`, found by hopping through the index: cheap however many jobs there are.
WITH RECURSIVE words (status) AS (
    SELECT min(status) FROM jobs WHERE status <> 'completed'
    UNION ALL
    SELECT (SELECT min(j.status) FROM jobs AS j WHERE j.status > words.status AND j.status <> 'completed')
    FROM words WHERE words.status IS NOT NULL
)
SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'status ' || quote(j.status) AS detail
FROM words CROSS JOIN jobs AS j ON j.status = words.status AND j.status <> 'completed'
WHERE words.status NOT IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing',
    'uploading_outputs', 'completed', 'failed', 'quarantined', 'cancelled')
ORDER BY j.id LIMIT :limit
