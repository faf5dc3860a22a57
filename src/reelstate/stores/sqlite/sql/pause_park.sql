-- Park tasks of paused stages and users among the first `limit` of each lane, so that claims no longer meet them. Their
-- status does not change, so there is no event.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
WITH side (sign) AS (VALUES (1), (-1)),
parked AS MATERIALIZED (
    SELECT r.rowid AS task
    FROM lanes AS l CROSS JOIN side CROSS JOIN tasks AS r
    WHERE EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage'))
      AND r.rowid IN (
        SELECT h.rowid FROM tasks AS h INDEXED BY tasks_ready
        WHERE h.lane = l.id * side.sign AND h.status = 'ready'
        ORDER BY h.priority DESC, h.job_id, h.stage, h.part LIMIT :limit)
      AND {paused_task}
)
UPDATE tasks SET lane = lane + CASE WHEN lane > 0 THEN 1073741824 ELSE -1073741824 END
WHERE rowid IN (SELECT task FROM parked)
RETURNING job_id
