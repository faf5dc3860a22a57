SELECT stage, count(*) FROM tasks
WHERE job_id = :job_id AND stage IN (SELECT value FROM json_each(:stages)) AND status = 'running'
GROUP BY stage ORDER BY stage
