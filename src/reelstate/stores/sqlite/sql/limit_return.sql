-- Tasks that wait for a limit that was removed arrive again.
WITH found AS MATERIALIZED (
    SELECT r.rowid AS task, q.lane
    FROM limit_queues AS q CROSS JOIN tasks AS r INDEXED BY tasks_ready
    WHERE q.waiting AND r.lane IN (q.id, -q.id) AND r.status = 'ready' AND EXISTS (
        SELECT 1 FROM json_each(q.keys) AS part CROSS JOIN limit_keys AS k ON k.id = part.value
        CROSS JOIN limits AS m ON m.id = k.limit_id
        WHERE m.removed_at IS NOT NULL AND m.settled_at IS NULL)
    LIMIT :limit
)
UPDATE tasks SET lane = CASE WHEN tasks.lane > 0 THEN 1 ELSE -1 END * (found.lane + 268435456)
FROM found WHERE tasks.rowid = found.task
RETURNING tasks.job_id
