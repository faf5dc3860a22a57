-- Record a heartbeat. An offline worker becomes active, if its name has fewer than `max_instances`; `drain` tells it to
-- stop claiming.
-- In RETURNING a column has lost its type; without the cast the index is not used.
UPDATE workers
SET last_heartbeat_at = :now, stuck = coalesce(:stuck, stuck),
    status = CASE WHEN status = 'offline' THEN 'active' ELSE status END,
    version = version + CASE WHEN status = 'offline' THEN 1 ELSE 0 END,
    actor = CASE WHEN status = 'offline' THEN 'worker' ELSE actor END,
    reason = CASE WHEN status = 'offline' THEN 'heartbeat' ELSE reason END,
    changed_at = CASE WHEN status = 'offline' THEN :now ELSE changed_at END
WHERE id = :worker_id AND EXISTS (SELECT 1 FROM worker_names AS n WHERE n.name = workers.name)
  AND (status <> 'offline' OR :max_instances IS NULL
       OR (SELECT count(*) FROM workers AS o WHERE o.name = workers.name AND o.status <> 'offline') < :max_instances)
RETURNING status = 'draining' OR NOT (SELECT n.enabled FROM worker_names AS n WHERE n.name = CAST(workers.name AS TEXT)) AS drain
