-- Park tasks of paused stages and users among the first `limit` of each lane, so that claims no longer meet them. Their
-- status does not change, so there is no event.
WITH heads AS MATERIALIZED (
    SELECT head.task
    FROM reelstate.lanes l
    CROSS JOIN (VALUES (1), (-1)) AS side (sign)
    CROSS JOIN LATERAL (
        SELECT ctid AS task FROM reelstate.tasks WHERE lane = l.id * side.sign AND status = 'ready'
        ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
    ) AS head
    WHERE EXISTS (SELECT FROM reelstate.pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage'))
), parked AS MATERIALIZED (
    SELECT r.ctid AS task FROM reelstate.tasks r
    WHERE r.ctid = ANY (ARRAY(SELECT task FROM heads)) AND r.status = 'ready' AND abs(r.lane) < 1073741824
      AND {paused_task}
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE reelstate.tasks t SET lane = t.lane + sign(t.lane)::integer * 1073741824
WHERE t.ctid = ANY (ARRAY(SELECT task FROM parked))
RETURNING t.job_id
