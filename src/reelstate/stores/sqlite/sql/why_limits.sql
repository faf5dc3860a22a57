-- The limits that a task in a queue waits for, what each has admitted, and how many tasks of the queue come before it.
-- Differs from PostgreSQL: without LATERAL the counts are correlated subqueries.
SELECT m.name, k.key, m.running, k.admitted, m.starts,
       (SELECT count(*) FROM limit_starts AS s WHERE s.key = k.id AND (s.at IS NULL OR s.at > :now - m.period)) AS started,
       m.period,
       (SELECT min(s.at) + m.period - :now FROM limit_starts AS s WHERE s.key = k.id AND s.at > :now - m.period) AS retry_in,
       (SELECT count(*) FROM (
            SELECT 1 FROM tasks AS t INDEXED BY tasks_ready
            WHERE t.lane = q.id AND t.status = 'ready'
              AND (t.priority > :priority OR t.priority = :priority AND (t.job_id, t.stage, t.part) < (:job_id, :stage, :part))
            LIMIT :cap)) AS before
FROM limit_queues AS q CROSS JOIN json_each(q.keys) AS part CROSS JOIN limit_keys AS k ON k.id = part.value
CROSS JOIN limits AS m ON m.id = k.limit_id AND m.removed_at IS NULL
WHERE q.id = :queue
ORDER BY m.id
