-- The first of these new jobs that would wait for itself: what it waits for leads, over jobs that wait and groups with such
-- jobs, to the group that it is in. Each job and group is visited once.
WITH RECURSIVE reached (start, kind, target) AS (
    SELECT d.job_id, d.kind, d.target FROM dependencies AS d WHERE d.job_id IN (SELECT value FROM json_each(:job_ids))
    UNION
    SELECT r.start, d.kind, d.target
    FROM reached AS r
    CROSS JOIN waits AS w ON r.kind = 'job' AND w.job_id = r.target AND w.ended_at IS NULL
    CROSS JOIN dependencies AS d ON d.job_id = w.job_id
    UNION
    SELECT r.start, d.kind, d.target
    FROM reached AS r
    CROSS JOIN waits AS w INDEXED BY waits_by_group ON r.kind = 'group' AND w.group_id = r.target AND w.ended_at IS NULL
    CROSS JOIN dependencies AS d ON d.job_id = w.job_id
)
SELECT r.start AS job_id, g.name
FROM reached AS r JOIN waits AS w ON w.job_id = r.start AND w.group_id = r.target
JOIN groups AS g ON g.id = w.group_id
WHERE r.kind = 'group'
ORDER BY 1 LIMIT 1
