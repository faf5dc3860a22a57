SELECT w.id, w.name, w.hostname, w.software, w.kind, w.slots, w.capabilities, w.pipelines, w.metadata, w.status,
       n.enabled, (SELECT count(*) FROM reelstate.tasks t WHERE t.worker_id = w.id) AS running, w.stuck,
       w.version, w.registered_at, w.last_heartbeat_at, coalesce(i.done, 0) AS done, coalesce(i.failed, 0) AS failed
FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
LEFT JOIN reelstate.worker_instances i ON i.id = w.id
ORDER BY w.id
