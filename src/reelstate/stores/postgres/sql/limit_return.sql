-- Tasks that wait for a limit that was removed arrive again.
WITH found AS MATERIALIZED (
    SELECT head.task, q.lane
    FROM reelstate.limit_queues q CROSS JOIN (VALUES (1), (-1)) AS side (sign)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS task FROM reelstate.tasks r
        WHERE r.lane = side.sign * q.id AND r.status = 'ready'
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT %(limit)s
        FOR UPDATE OF r SKIP LOCKED
    ) AS head
    WHERE q.waiting AND EXISTS (
        SELECT FROM reelstate.limit_keys k JOIN reelstate.limits m ON m.id = k.limit_id
        WHERE k.id = ANY (q.keys) AND m.removed_at IS NOT NULL AND m.settled_at IS NULL)
    LIMIT %(limit)s
)
UPDATE reelstate.tasks t SET lane = sign(t.lane)::integer * (q.lane + 268435456)
FROM reelstate.limit_queues q
WHERE t.ctid = ANY (ARRAY(SELECT task FROM found)) AND q.id = abs(t.lane)
RETURNING t.job_id
