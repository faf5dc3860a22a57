-- The heartbeat is looked at again in the update itself, so a worker that has just spoken is not taken for dead.
UPDATE workers
SET status = 'offline', version = version + 1, actor = 'keeper', reason = 'no heartbeat', changed_at = :now
WHERE status IN ('active', 'draining') AND coalesce(last_heartbeat_at, registered_at) < :now - :stale
RETURNING id
