-- Park tasks of paused stages and users among the first `limit` of each lane, so that claims no longer meet them, and of each
-- queue of a limit. Their status does not change, so there is no event. A task that a limit had admitted is subtracted
-- from its keys, as one that has ended.
WITH heads AS MATERIALIZED (
    SELECT head.task
    FROM (SELECT id FROM reelstate.lanes UNION ALL SELECT id FROM reelstate.limit_queues WHERE waiting) AS l
    CROSS JOIN (VALUES (1), (-1)) AS side (sign)
    CROSS JOIN LATERAL (
        SELECT ctid AS task FROM reelstate.tasks WHERE lane = l.id * side.sign AND status = 'ready'
        ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
    ) AS head
    WHERE EXISTS (SELECT FROM reelstate.pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage'))
), parked AS MATERIALIZED (
    SELECT r.ctid AS task, r.queue, r.lane, r.job_id, r.stage, r.part FROM reelstate.tasks r
    WHERE r.ctid = ANY (ARRAY(SELECT task FROM heads)) AND r.status = 'ready' AND abs(r.lane) < 1073741824
      AND {paused_task}
    FOR UPDATE OF r SKIP LOCKED
), ended AS (
    INSERT INTO reelstate.limit_ended (queue)
    SELECT queue FROM parked WHERE queue IS NOT NULL AND abs(lane) < 268435456
), unexpected AS (
    DELETE FROM reelstate.limit_starts s USING parked
    WHERE parked.queue IS NOT NULL AND s.job_id = parked.job_id AND s.stage = parked.stage AND s.part = parked.part
      AND s.at IS NULL
)
UPDATE reelstate.tasks t SET lane = t.lane + sign(t.lane)::integer * 1073741824
WHERE t.ctid = ANY (ARRAY(SELECT task FROM parked))
RETURNING t.job_id
