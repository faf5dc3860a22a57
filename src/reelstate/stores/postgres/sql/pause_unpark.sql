-- Return up to `limit` parked tasks that nothing pauses any more to their lanes.
WITH parked AS MATERIALIZED (
    SELECT found.task
    FROM reelstate.lanes l
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
UPDATE reelstate.tasks t SET lane = t.lane - sign(t.lane)::integer * 1073741824
WHERE t.ctid = ANY (ARRAY(SELECT task FROM parked))
RETURNING t.job_id
