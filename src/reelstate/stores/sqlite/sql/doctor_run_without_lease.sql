SELECT job_id, stage, part, status, 'running, but no worker holds it' AS detail FROM tasks
WHERE status = 'running' AND (worker_id IS NULL OR lease_expires_at IS NULL)
ORDER BY +job_id, +stage, +part LIMIT :limit
