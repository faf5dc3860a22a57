-- The jobs of groups by status; those that run are `running`. Ended jobs are counted by an index, without reading them.
SELECT m.group_id, m.outcome AS status, count(*) AS jobs
FROM reelstate.group_jobs m
WHERE m.group_id = ANY (%(ids)s::bigint[]) AND m.outcome IS NOT NULL
GROUP BY m.group_id, m.outcome
UNION ALL
SELECT m.group_id, CASE WHEN j.status = 'pending' THEN 'pending' ELSE 'running' END, count(*)
FROM reelstate.group_jobs m JOIN reelstate.jobs j ON j.id = m.job_id
WHERE m.group_id = ANY (%(ids)s::bigint[]) AND m.outcome IS NULL
GROUP BY 1, 2
