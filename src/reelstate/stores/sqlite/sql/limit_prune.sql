-- Forget queues and keys without tasks, and starts whose period has passed.
-- Differs from PostgreSQL: a CTE can't write, so the queues are counted anew for the keys.
DELETE FROM limit_queues WHERE id IN (
    SELECT q.id FROM limit_queues AS q
    WHERE NOT q.waiting AND NOT EXISTS (SELECT 1 FROM limit_ended AS e WHERE e.queue = q.id)
      AND NOT EXISTS (SELECT 1 FROM json_each(q.keys) AS part CROSS JOIN limit_keys AS k ON k.id = part.value
                      WHERE k.admitted > 0)
    LIMIT :limit);
UPDATE limit_keys SET queues = counted.queues
FROM (SELECT k.id, count(found.key) AS queues FROM limit_keys AS k
      LEFT JOIN (SELECT part.value AS key FROM limit_queues AS q CROSS JOIN json_each(q.keys) AS part) AS found ON found.key = k.id
      GROUP BY k.id) AS counted
WHERE limit_keys.id = counted.id AND limit_keys.queues <> counted.queues;
DELETE FROM limit_starts WHERE rowid IN (
    SELECT s.rowid FROM limit_starts AS s CROSS JOIN limit_keys AS k ON k.id = s.key CROSS JOIN limits AS m ON m.id = k.limit_id
    WHERE s.at <= :now - coalesce(m.period, 0));
DELETE FROM limit_keys WHERE queues = 0 AND admitted = 0
  AND NOT EXISTS (SELECT 1 FROM limit_starts AS s WHERE s.key = limit_keys.id)
RETURNING id
