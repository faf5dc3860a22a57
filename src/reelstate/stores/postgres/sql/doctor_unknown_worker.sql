SELECT t.job_id, t.stage, t.part, t.status, 'leased to worker ' || t.worker_id || ', which is unknown' AS detail
FROM reelstate.tasks t
WHERE t.worker_id IS NOT NULL AND t.status = 'running' AND t.lease_expires_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM reelstate.workers w WHERE w.id = t.worker_id)
ORDER BY t.job_id, t.stage, t.part LIMIT %(limit)s
