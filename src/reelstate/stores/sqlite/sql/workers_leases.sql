-- The tasks that the instances of a name hold now.
SELECT t.job_id, t.stage, t.part, t.token
FROM workers AS w CROSS JOIN tasks AS t ON t.status = 'running' AND t.worker_id = w.id
WHERE w.name = :name ORDER BY t.job_id, t.stage, t.part
