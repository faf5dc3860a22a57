-- The worker, what it runs now, and the first isolated task it could take: one that has lost a worker before and runs
-- alone.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated subquery.
WITH named AS MATERIALIZED (
    SELECT w.status, n.enabled,
           EXISTS (SELECT 1 FROM pauses AS p WHERE p.resumed_at IS NULL
                   AND (p.scope = 'all' OR p.scope = 'worker' AND p.name = w.name)) AS paused, coalesce(:pipelines, w.pipelines) AS pipelines,
           coalesce(:capabilities, w.capabilities) AS capabilities
    FROM workers AS w JOIN worker_names AS n ON n.name = w.name
    WHERE w.id = :worker_id
), isolated AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part
    FROM named CROSS JOIN lanes AS l CROSS JOIN tasks AS t
    WHERE l.pipeline IN (SELECT value FROM json_each(named.pipelines))
      AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                      WHERE needed.value NOT IN (SELECT value FROM json_each(named.capabilities)))
      AND l.pipeline NOT IN (SELECT name FROM pauses WHERE resumed_at IS NULL AND scope = 'pipeline')
      AND t.rowid = (
          SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
          WHERE r.lane = -l.id AND r.status = 'ready' AND NOT {paused_task} AND NOT {unrouted_task}
          ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT 1)
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT 1
), held AS MATERIALIZED (
    SELECT count(*) AS running, coalesce(max(lane < 0), 0) AS runs_isolated
    FROM tasks WHERE status = 'running' AND worker_id = :worker_id
)
SELECT named.status, named.enabled, held.running, held.runs_isolated, isolated.job_id, isolated.stage, isolated.part,
       named.paused, EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS parks,
       EXISTS (SELECT 1 FROM limits WHERE removed_at IS NULL OR settled_at IS NULL) AS limited
FROM named CROSS JOIN held LEFT JOIN isolated ON true
