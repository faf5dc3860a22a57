-- The first task that has cost a worker before and may therefore only be run alone.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated subquery.
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
