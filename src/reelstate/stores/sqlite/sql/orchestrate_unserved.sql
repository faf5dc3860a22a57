-- Stages with tasks that have been ready for `older` seconds in lanes whose needs no active worker has: the first of each
-- lane, and of its negative number, where isolated tasks wait.
-- Differs from PostgreSQL: without LATERAL the first tasks of a lane are a correlated list of rowids.
SELECT DISTINCT t.job_id, t.stage, l.id AS lane, j.pipeline_id
FROM lanes AS l CROSS JOIN (SELECT 1 AS sign UNION ALL SELECT -1) AS side CROSS JOIN tasks AS t
JOIN jobs AS j ON j.id = t.job_id
WHERE l.needs <> '[]'
  AND NOT EXISTS (
      SELECT 1 FROM workers AS w JOIN worker_names AS n ON n.name = w.name
      WHERE w.status = 'active' AND n.enabled AND l.pipeline IN (SELECT value FROM json_each(w.pipelines))
        AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                        WHERE needed.value NOT IN (SELECT value FROM json_each(w.capabilities))))
  AND t.rowid IN (
      SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
      WHERE r.lane = side.sign * l.id AND r.status = 'ready'
      ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :limit)
  AND t.ready_at <= :now - :older
