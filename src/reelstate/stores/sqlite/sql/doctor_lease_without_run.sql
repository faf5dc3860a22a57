SELECT job_id, stage, part, status, status || ', but it has a lease' AS detail FROM tasks
WHERE status <> 'running' AND (worker_id IS NOT NULL OR lease_expires_at IS NOT NULL)
ORDER BY job_id, stage, part LIMIT :limit
