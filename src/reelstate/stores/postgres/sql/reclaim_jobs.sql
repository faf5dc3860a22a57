-- The jobs that `reclaim` handles: a lease has expired, a run has stalled, or a lease belongs to an offline worker.
SELECT DISTINCT t.job_id
FROM reelstate.tasks t LEFT JOIN reelstate.workers w ON w.id = t.worker_id
WHERE t.worker_id IS NOT NULL AND t.status = 'running'
  AND (t.lease_expires_at < coalesce(%(now)s::timestamptz, clock_timestamp())
       OR t.progress_at + make_interval(secs => %(stall)s::float8) <= coalesce(%(now)s::timestamptz, clock_timestamp())
       OR w.status IS DISTINCT FROM 'active')
ORDER BY t.job_id LIMIT %(limit)s
