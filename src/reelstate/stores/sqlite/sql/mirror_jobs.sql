-- The first ready tasks of some jobs in the order of claims: the index is probed by job, so finished tasks of the
-- same job cost nothing.
-- Paused tasks are left out: no worker could claim them.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
WITH side (sign) AS (VALUES (1), (-1))
SELECT t.job_id, t.stage, t.part, t.priority, t.lane, l.pipeline, l.needs, l.prefers
FROM json_each(:job_ids) AS wanted
CROSS JOIN jobs AS j ON j.id = wanted.value
CROSS JOIN pipelines AS p ON p.id = j.pipeline_id
CROSS JOIN lanes AS l ON l.pipeline = p.name
CROSS JOIN side
CROSS JOIN tasks AS t
WHERE t.rowid IN (
    SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
    WHERE r.lane = l.id * side.sign AND r.status = 'ready' AND r.priority = j.priority AND r.job_id = j.id
      AND NOT {paused_task}
    ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.resumed_at IS NULL
    AND (p.scope = 'all' OR p.scope = 'pipeline' AND p.name = l.pipeline))
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT :limit
