-- Subtract admitted tasks that have ended from their keys, and look at the queues that these block again.
-- Differs from PostgreSQL: a CTE can't write, so the rows are deleted afterwards; the transaction has the database to itself.
UPDATE limit_keys SET admitted = max(0, admitted - freed.tasks), retry_at = :now
FROM (
    SELECT part.value AS key, count(*) AS tasks
    FROM (SELECT queue FROM limit_ended ORDER BY id LIMIT :limit) AS ended
    CROSS JOIN limit_queues AS q ON q.id = ended.queue CROSS JOIN json_each(q.keys) AS part
    GROUP BY part.value) AS freed
WHERE limit_keys.id = freed.key;
DELETE FROM limit_ended WHERE id IN (SELECT id FROM limit_ended ORDER BY id LIMIT :limit) RETURNING id
