-- Jobs that have stopped recently and still have ready tasks.
SELECT j.id AS job_id FROM jobs AS j INDEXED BY jobs_stopped
WHERE j.status IN ('failed', 'quarantined') AND j.finished_at IS NOT NULL AND j.changed_at > :now - :recent
  AND EXISTS (SELECT 1 FROM tasks AS t WHERE t.job_id = j.id AND t.status = 'ready')
ORDER BY j.id LIMIT :limit
