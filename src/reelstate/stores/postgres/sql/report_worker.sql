-- Record a heartbeat. An offline worker becomes active, if its name has fewer than `max_instances`; `drain` tells it to
-- stop claiming.
UPDATE reelstate.workers w
SET last_heartbeat_at = clock.now, stuck = coalesce(%(stuck)s::integer, w.stuck),
    status = CASE WHEN w.status = 'offline' THEN 'active' ELSE w.status END,
    version = w.version + CASE WHEN w.status = 'offline' THEN 1 ELSE 0 END,
    actor = CASE WHEN w.status = 'offline' THEN 'worker' ELSE w.actor END,
    reason = CASE WHEN w.status = 'offline' THEN 'heartbeat' ELSE w.reason END,
    changed_at = CASE WHEN w.status = 'offline' THEN clock.now ELSE w.changed_at END
FROM reelstate.worker_names n, (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE w.id = %(worker_id)s AND n.name = w.name
  AND (w.status <> 'offline' OR %(max_instances)s::integer IS NULL
       OR (SELECT count(*) FROM reelstate.workers o WHERE o.name = w.name AND o.status <> 'offline') < %(max_instances)s)
RETURNING w.status = 'draining' OR NOT n.enabled AS drain
