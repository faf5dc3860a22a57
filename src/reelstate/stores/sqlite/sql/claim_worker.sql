-- The worker, and what it runs now.
SELECT w.status, n.enabled, w.slots, count(t.worker_id), coalesce(max(t.lost > 0), 0)
FROM workers AS w JOIN worker_names AS n ON n.name = w.name
LEFT JOIN tasks AS t ON t.status = 'running' AND t.worker_id = w.id
WHERE w.id = :worker_id
GROUP BY w.status, n.enabled, w.slots
