-- Queues of limits that were removed, from which all tasks have gone, wait for nothing.
UPDATE reelstate.limit_queues q SET waiting = false, blocked_by = NULL
WHERE q.waiting AND EXISTS (
    SELECT FROM reelstate.limit_keys k JOIN reelstate.limits m ON m.id = k.limit_id
    WHERE k.id = ANY (q.keys) AND m.removed_at IS NOT NULL)
  AND NOT EXISTS (SELECT FROM reelstate.tasks t WHERE t.lane IN (q.id, -q.id) AND t.status = 'ready')
RETURNING q.id
