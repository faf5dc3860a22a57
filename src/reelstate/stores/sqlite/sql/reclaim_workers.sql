-- The update itself checks the heartbeat, so a worker that has just sent one stays active.
UPDATE workers
SET status = 'offline', version = version + 1, actor = 'keeper', reason = 'no heartbeat', changed_at = :now
WHERE status IN ('active', 'draining') AND coalesce(last_heartbeat_at, registered_at) < :now - :stale
RETURNING id
