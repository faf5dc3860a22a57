-- Instances that have been offline for long and hold nothing. Their events stay, and so does their name.
DELETE FROM workers
WHERE status = 'offline' AND changed_at < :now - :older
  AND NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.status = 'running' AND t.worker_id = workers.id)
RETURNING id
