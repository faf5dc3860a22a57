-- Return up to `limit` parked tasks that nothing pauses any more to their lanes. Where there are limits, they arrive again.
WITH parked AS MATERIALIZED (
    SELECT found.task
    FROM (SELECT id FROM reelstate.lanes UNION ALL SELECT id FROM reelstate.limit_queues) AS l
    CROSS JOIN (VALUES (1), (-1)) AS side (sign)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS task FROM reelstate.tasks r
        WHERE r.lane = side.sign * (l.id + 1073741824) AND r.status = 'ready'
          AND NOT {paused_task}
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT %(limit)s
        FOR UPDATE OF r SKIP LOCKED
    ) AS found
    LIMIT %(limit)s
)
UPDATE reelstate.tasks t SET lane = sign(t.lane)::integer * (abs(reelstate.real_lane(t.lane)) + CASE WHEN limited.now THEN 268435456 ELSE 0 END),
    queue = NULL
FROM (SELECT EXISTS (SELECT FROM reelstate.limits WHERE removed_at IS NULL) AS now) AS limited
WHERE t.ctid = ANY (ARRAY(SELECT task FROM parked))
RETURNING t.job_id
