-- The groups of jobs that have ended or run again.
SELECT g.id FROM groups AS g
WHERE g.id IN (SELECT m.group_id FROM group_jobs AS m WHERE m.job_id IN (SELECT value FROM json_each(:job_ids)))
ORDER BY g.user_id, g.name
