-- Look at queues again whose key may have room: the first of each key, by priority and turn. A key with more of them stays
-- due until it is found to be full.
-- Differs from PostgreSQL: a CTE can't write, so a key is no longer due where no queue of it is blocked any more.
UPDATE limit_queues SET blocked_by = NULL
WHERE id IN (
    SELECT q.id
    FROM (SELECT id FROM limit_keys WHERE retry_at <= :now ORDER BY retry_at LIMIT :limit) AS due CROSS JOIN limit_queues AS q
    WHERE q.id IN (SELECT b.id FROM limit_queues AS b WHERE b.blocked_by = due.id ORDER BY b.priority DESC, b.turn LIMIT :most));
UPDATE limit_keys SET retry_at = NULL
WHERE id IN (SELECT id FROM limit_keys WHERE retry_at <= :now ORDER BY retry_at LIMIT :limit)
  AND NOT EXISTS (SELECT 1 FROM limit_queues AS q WHERE q.blocked_by = limit_keys.id)
RETURNING id
