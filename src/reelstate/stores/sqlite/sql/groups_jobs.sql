-- The first jobs of a group after an id, with one of these statuses.
SELECT j.id FROM groups AS g
CROSS JOIN group_jobs AS m INDEXED BY group_jobs_by_group ON m.group_id = g.id AND m.job_id > :after
CROSS JOIN jobs AS j ON j.id = m.job_id
WHERE g.user_id = :user_id AND g.name = :name AND j.status IN (SELECT value FROM json_each(:statuses))
ORDER BY m.job_id LIMIT :limit
