-- The jobs that `reclaim` handles: a lease has expired, a run has stalled, or a lease belongs to an offline worker.
SELECT DISTINCT t.job_id
FROM tasks AS t LEFT JOIN workers AS w ON w.id = t.worker_id
WHERE t.status = 'running' AND (t.lease_expires_at < :now OR t.progress_at + :stall <= :now OR w.status IS NOT 'active')
ORDER BY t.job_id LIMIT :limit
