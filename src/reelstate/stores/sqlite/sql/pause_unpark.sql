-- Return up to `limit` parked tasks that nothing pauses any more to their lanes.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
WITH side (sign) AS (VALUES (1), (-1)),
parked AS MATERIALIZED (
    SELECT t.rowid AS task
    FROM lanes AS l CROSS JOIN side CROSS JOIN tasks AS t
    WHERE t.rowid IN (
        SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
        WHERE r.lane = side.sign * (l.id + 1073741824) AND r.status = 'ready'
          AND NOT {paused_task}
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :limit)
    LIMIT :limit
)
UPDATE tasks SET lane = lane - CASE WHEN lane > 0 THEN 1073741824 ELSE -1073741824 END
WHERE rowid IN (SELECT task FROM parked)
RETURNING job_id
