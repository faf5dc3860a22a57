SELECT w.id, w.name, w.hostname, w.software, w.kind, w.slots, w.capabilities, w.pipelines, w.metadata, w.status,
       n.enabled, (SELECT count(*) FROM tasks AS t WHERE t.status = 'running' AND t.worker_id = w.id) AS running, w.stuck,
       w.version, w.registered_at, w.last_heartbeat_at, coalesce(i.done, 0) AS done, coalesce(i.failed, 0) AS failed
FROM workers AS w JOIN worker_names AS n ON n.name = w.name
LEFT JOIN worker_instances AS i ON i.id = w.id
ORDER BY w.id
