-- The update itself checks the heartbeat, so a worker that has just sent one stays active.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
)
UPDATE reelstate.workers w
SET status = 'offline', version = w.version + 1, actor = 'keeper', reason = 'no heartbeat', changed_at = clock.now
FROM clock
WHERE w.status IN ('active', 'draining')
  AND coalesce(w.last_heartbeat_at, w.registered_at) < clock.now - make_interval(secs => %(stale)s)
RETURNING w.id
