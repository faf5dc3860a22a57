SELECT job_id, stage, part, status, 'attempt ' || attempt || ' of ' || max_attempts AS detail FROM tasks
WHERE attempt > max_attempts OR attempt < 0
ORDER BY job_id, stage, part LIMIT :limit
