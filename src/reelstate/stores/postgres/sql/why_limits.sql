-- The limits that a task in a queue waits for, what each has admitted, and how many tasks of the queue come before it.
SELECT m.name, k.key, m.running, k.admitted, m.starts, used.starts AS started, m.period, used.retry_in, earlier.tasks AS before
FROM reelstate.limit_queues q
JOIN reelstate.limit_keys k ON k.id = ANY (q.keys)
JOIN reelstate.limits m ON m.id = k.limit_id AND m.removed_at IS NULL
CROSS JOIN (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS starts,
           extract(epoch FROM min(s.at) + make_interval(secs => m.period) - clock.now)::float8 AS retry_in
    FROM reelstate.limit_starts s
    WHERE s.key = k.id AND (s.at IS NULL OR s.at > clock.now - make_interval(secs => m.period))
) AS used
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks FROM (
        (SELECT FROM reelstate.tasks t
         WHERE t.lane = q.id AND t.status = 'ready' AND t.priority > %(priority)s LIMIT %(cap)s)
        UNION ALL
        (SELECT FROM reelstate.tasks t
         WHERE t.lane = q.id AND t.status = 'ready' AND t.priority = %(priority)s
           AND (t.job_id, t.stage, t.part) < (%(job_id)s, %(stage)s, %(part)s) LIMIT %(cap)s)
        LIMIT %(cap)s) AS counted
) AS earlier
WHERE q.id = %(queue)s
ORDER BY m.id
