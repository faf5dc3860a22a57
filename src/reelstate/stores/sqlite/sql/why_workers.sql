-- The workers that serve a pipeline, those that may claim first, with what `claim` asks of each: whether it is active, its
-- name enabled, its slots free, and whether it runs an isolated task. `heard` is what a lane's preference asks of others.
SELECT w.id, w.name, w.status, n.enabled, w.slots, w.stuck, w.capabilities,
       coalesce(w.last_heartbeat_at, w.registered_at) > :now - :stale AS heard,
       :now - coalesce(w.last_heartbeat_at, w.registered_at) AS silent,
       (SELECT count(*) FROM tasks AS t WHERE t.status = 'running' AND t.worker_id = w.id) AS running,
       (SELECT coalesce(max(t.lane < 0), 0) FROM tasks AS t WHERE t.status = 'running' AND t.worker_id = w.id) AS runs_isolated
FROM workers AS w JOIN worker_names AS n ON n.name = w.name
WHERE :pipeline IN (SELECT value FROM json_each(w.pipelines))
ORDER BY w.status <> 'active', w.id DESC LIMIT :limit
