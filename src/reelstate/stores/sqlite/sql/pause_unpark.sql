-- Return up to `limit` parked tasks that nothing pauses any more to their lanes. Where there are limits, they arrive again.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
WITH side (sign) AS (VALUES (1), (-1)),
parked AS MATERIALIZED (
    SELECT t.rowid AS task, l.lane
    FROM (SELECT id, id AS lane FROM lanes UNION ALL SELECT id, lane FROM limit_queues) AS l CROSS JOIN side CROSS JOIN tasks AS t
    WHERE t.rowid IN (
        SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
        WHERE r.lane = side.sign * (l.id + 1073741824) AND r.status = 'ready'
          AND NOT {paused_task}
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :limit)
    LIMIT :limit
)
UPDATE tasks SET lane = CASE WHEN tasks.lane > 0 THEN 1 ELSE -1 END * (parked.lane + CASE
    WHEN EXISTS (SELECT 1 FROM limits WHERE removed_at IS NULL) THEN 268435456 ELSE 0 END), queue = NULL
FROM parked
WHERE tasks.rowid = parked.task
RETURNING tasks.job_id
