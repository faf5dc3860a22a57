-- The workers that serve a pipeline, those that may claim first, with what `claim` asks of each: whether it is active, its
-- name enabled, its slots free, and whether it runs an isolated task. `heard` is what a lane's preference asks of others.
SELECT w.id, w.name, w.status, n.enabled, w.slots, w.stuck, w.capabilities,
       coalesce(w.last_heartbeat_at, w.registered_at) > clock.now - make_interval(secs => %(stale)s) AS heard,
       extract(epoch FROM clock.now - coalesce(w.last_heartbeat_at, w.registered_at))::float8 AS silent,
       held.running, held.runs_isolated
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
CROSS JOIN LATERAL (
    SELECT count(*) AS running, coalesce(bool_or(t.lane < 0), false) AS runs_isolated
    FROM reelstate.tasks t WHERE t.worker_id = w.id
) AS held
WHERE %(pipeline)s::text = ANY (w.pipelines)
ORDER BY w.status <> 'active', w.id DESC LIMIT %(limit)s
