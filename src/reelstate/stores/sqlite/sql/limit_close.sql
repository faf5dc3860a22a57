-- Queues of limits that were removed, from which all tasks have gone, wait for nothing.
UPDATE limit_queues SET waiting = 0, blocked_by = NULL
WHERE waiting AND EXISTS (
    SELECT 1 FROM json_each(limit_queues.keys) AS part CROSS JOIN limit_keys AS k ON k.id = part.value
    CROSS JOIN limits AS m ON m.id = k.limit_id
    WHERE m.removed_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.lane IN (limit_queues.id, -limit_queues.id) AND t.status = 'ready')
RETURNING id
