-- The jobs of groups by status; those that run are `running`. Ended jobs are counted by an index, without reading them.
SELECT m.group_id, m.outcome AS status, count(*) AS jobs
FROM group_jobs AS m
WHERE m.group_id IN (SELECT value FROM json_each(:ids)) AND m.outcome IS NOT NULL
GROUP BY m.group_id, m.outcome
UNION ALL
SELECT m.group_id, CASE WHEN j.status = 'pending' THEN 'pending' ELSE 'running' END, count(*)
FROM group_jobs AS m CROSS JOIN jobs AS j ON j.id = m.job_id
WHERE m.group_id IN (SELECT value FROM json_each(:ids)) AND m.outcome IS NULL
GROUP BY 1, 2
