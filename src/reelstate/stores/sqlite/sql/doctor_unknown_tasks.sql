SELECT job_id, stage, part, status, 'status ' || quote(status) AS detail FROM tasks
WHERE status NOT IN ('new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled')
ORDER BY job_id, stage, part LIMIT :limit
