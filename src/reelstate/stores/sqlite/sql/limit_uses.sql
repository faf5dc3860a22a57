-- The keys of a limit with tasks that run or wait, those with most first; `waiting` is counted up to a thousand.
-- Differs from PostgreSQL: without LATERAL each count is a correlated subquery.
SELECT key, running, starts, waiting FROM (
    SELECT k.key, k.admitted AS running,
           (SELECT count(*) FROM limit_starts AS s WHERE s.key = k.id AND s.at > :now - m.period) AS starts,
           (SELECT count(*) FROM (
                SELECT 1 FROM limit_queues AS q CROSS JOIN json_each(q.keys) AS part CROSS JOIN tasks AS t
                WHERE q.waiting AND part.value = k.id AND t.lane IN (q.id, -q.id) AND t.status = 'ready' LIMIT 1000)) AS waiting
    FROM limits AS m CROSS JOIN limit_keys AS k ON k.limit_id = m.id
    WHERE m.id = :limit_id)
WHERE running > 0 OR waiting > 0 OR starts > 0
ORDER BY waiting DESC, running DESC, key LIMIT :limit
