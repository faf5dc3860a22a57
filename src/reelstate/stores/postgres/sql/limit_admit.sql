-- Move the first tasks of queues to the lanes that workers claim from; paused ones are left out.
WITH paused AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM reelstate.pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS tasks
), head AS MATERIALIZED (
    SELECT found.task, found.side, given.queue,
           row_number() OVER (PARTITION BY given.queue ORDER BY found.priority DESC, found.job_id, found.stage, found.part) AS number
    FROM unnest(%(queue)s::integer[], %(tasks)s::integer[]) AS given (queue, tasks)
    CROSS JOIN (VALUES (1), (-1)) AS side (sign)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS task, side.sign AS side, r.priority, r.job_id, r.stage, r.part FROM reelstate.tasks r
        WHERE r.lane = side.sign * given.queue AND r.status = 'ready' AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT given.tasks
        FOR UPDATE OF r SKIP LOCKED
    ) AS found
)
UPDATE reelstate.tasks t SET lane = sign(t.lane)::integer * q.lane
FROM reelstate.limit_queues q
WHERE t.ctid = ANY (ARRAY(
          SELECT head.task FROM head
          JOIN unnest(%(queue)s::integer[], %(tasks)s::integer[]) AS given (queue, tasks) USING (queue)
          WHERE head.number <= given.tasks))
  AND q.id = abs(t.lane)
RETURNING t.job_id, t.stage, t.part, q.id AS queue
