-- The worker, what it runs now, and the first suspect it could take: a task that has cost a worker before and may
-- only be run alone.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated subquery.
WITH suspect AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part
    FROM lanes AS l CROSS JOIN tasks AS t
    WHERE l.pipeline IN (SELECT value FROM json_each(:pipelines))
      AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                      WHERE needed.value NOT IN (SELECT value FROM json_each(:capabilities)))
      AND t.rowid = (
          SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
          WHERE r.lane = -l.id AND r.status = 'ready'
          ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT 1)
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT 1
), held AS MATERIALIZED (
    SELECT count(*) AS running, coalesce(max(lost > 0), 0) AS runs_suspect
    FROM tasks WHERE status = 'running' AND worker_id = :worker_id
)
SELECT w.status, n.enabled, w.slots, held.running, held.runs_suspect, suspect.job_id, suspect.stage, suspect.part
FROM workers AS w JOIN worker_names AS n ON n.name = w.name CROSS JOIN held LEFT JOIN suspect ON true
WHERE w.id = :worker_id
