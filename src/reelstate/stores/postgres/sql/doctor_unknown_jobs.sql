-- Every status there is but `completed`, found by hopping through the index: cheap however many jobs there are.
WITH RECURSIVE words AS (
    (SELECT status FROM reelstate.jobs WHERE status <> 'completed' ORDER BY status LIMIT 1)
    UNION ALL
    SELECT (SELECT j.status FROM reelstate.jobs j
            WHERE j.status > words.status AND j.status <> 'completed' ORDER BY j.status LIMIT 1)
    FROM words WHERE words.status IS NOT NULL
)
SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'status ' || quote_literal(j.status) AS detail
FROM words JOIN reelstate.jobs j ON j.status = words.status AND j.status <> 'completed'
WHERE words.status NOT IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing',
    'uploading_outputs', 'completed', 'failed', 'quarantined', 'cancelled')
ORDER BY j.id LIMIT %(limit)s
