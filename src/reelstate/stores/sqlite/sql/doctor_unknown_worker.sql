SELECT t.job_id, t.stage, t.part, t.status, 'leased to worker ' || t.worker_id || ', which is unknown' AS detail
FROM tasks AS t
WHERE t.status = 'running' AND t.worker_id IS NOT NULL AND t.lease_expires_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = t.worker_id)
ORDER BY +t.job_id, +t.stage, +t.part LIMIT :limit
