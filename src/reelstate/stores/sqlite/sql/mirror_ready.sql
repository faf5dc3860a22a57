-- The first ready tasks of all lanes in the order of claims, isolated tasks included.
-- Paused tasks are left out: no worker could claim them.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
WITH side (sign) AS (VALUES (1), (-1))
SELECT t.job_id, t.stage, t.part, t.priority, t.lane, l.pipeline, l.needs, l.prefers
FROM lanes AS l CROSS JOIN side CROSS JOIN tasks AS t
WHERE t.rowid IN (
    SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
    WHERE r.lane = l.id * side.sign AND r.status = 'ready'
      AND NOT {paused_task}
    ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.resumed_at IS NULL
    AND (p.scope = 'all' OR p.scope = 'pipeline' AND p.name = l.pipeline))
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT :limit
