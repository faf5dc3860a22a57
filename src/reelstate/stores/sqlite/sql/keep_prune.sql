-- Delete instances that have been offline for `older` seconds and hold no lease. Their events and names stay.
DELETE FROM workers
WHERE status = 'offline' AND changed_at < :now - :older
  AND NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.status = 'running' AND t.worker_id = workers.id)
RETURNING id
