-- The keys of a limit with tasks that run or wait, those with most first; `waiting` is counted up to a thousand.
SELECT k.key, k.admitted AS running, used.starts, waiting.tasks AS waiting
FROM reelstate.limits m JOIN reelstate.limit_keys k ON k.limit_id = m.id
CROSS JOIN LATERAL (
    SELECT count(*) AS starts FROM reelstate.limit_starts s
    WHERE s.key = k.id AND s.at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => m.period)
) AS used
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks FROM (
        SELECT FROM reelstate.limit_queues q JOIN reelstate.tasks t ON t.lane IN (q.id, -q.id) AND t.status = 'ready'
        WHERE q.waiting AND k.id = ANY (q.keys) LIMIT 1000) AS counted
) AS waiting
WHERE m.id = %(limit_id)s AND (k.admitted > 0 OR waiting.tasks > 0 OR used.starts > 0)
ORDER BY waiting.tasks DESC, k.admitted DESC, k.key LIMIT %(limit)s
