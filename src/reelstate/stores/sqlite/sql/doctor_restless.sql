SELECT t.job_id, t.stage, t.part, t.status, t.status || ' in a job that is ' || j.status AS detail
FROM tasks AS t JOIN jobs AS j ON j.id = t.job_id
WHERE t.status = 'ready' AND j.status IN ('completed', 'failed', 'quarantined', 'cancelled')
   OR t.status = 'running' AND j.status IN ('completed', 'quarantined', 'cancelled')
ORDER BY t.job_id, t.stage, t.part LIMIT :limit
