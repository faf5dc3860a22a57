-- The first of these new jobs that would wait for itself: what it waits for leads, over jobs that wait and groups with such
-- jobs, to the group that it is in. Each job and group is visited once.
WITH RECURSIVE reached (start, kind, target) AS (
    SELECT d.job_id, d.kind, d.target FROM reelstate.dependencies d WHERE d.job_id = ANY (%(job_ids)s::bigint[])
    UNION
    SELECT r.start, d.kind, d.target
    FROM reached r
    CROSS JOIN LATERAL (
        SELECT w.job_id FROM reelstate.waits w WHERE r.kind = 'job' AND w.job_id = r.target AND w.ended_at IS NULL
        UNION ALL
        SELECT w.job_id FROM reelstate.waits w WHERE r.kind = 'group' AND w.group_id = r.target AND w.ended_at IS NULL
    ) AS waiting
    JOIN reelstate.dependencies d ON d.job_id = waiting.job_id
)
SELECT r.start AS job_id, g.name
FROM reached r JOIN reelstate.waits w ON w.job_id = r.start AND w.group_id = r.target
JOIN reelstate.groups g ON g.id = w.group_id
WHERE r.kind = 'group'
ORDER BY 1 LIMIT 1
