-- Subtract admitted tasks that have ended from their keys, and look at the queues that these block again.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), gone AS (
    DELETE FROM reelstate.limit_ended
    WHERE id = ANY (ARRAY(SELECT id FROM reelstate.limit_ended ORDER BY id LIMIT %(limit)s))
    RETURNING queue
), freed AS (
    SELECT part.key, sum(ended.tasks)::integer AS tasks
    FROM (SELECT queue, count(*) AS tasks FROM gone GROUP BY queue) AS ended
    JOIN reelstate.limit_queues q ON q.id = ended.queue CROSS JOIN unnest(q.keys) AS part (key)
    GROUP BY part.key
)
UPDATE reelstate.limit_keys k SET admitted = greatest(0, k.admitted - freed.tasks), retry_at = clock.now
FROM freed, clock WHERE k.id = freed.key
RETURNING k.id
