-- Ready tasks that came to their lanes, or to queues of other limits, before a limit that selects them was known arrive
-- again. One that was admitted by other limits is subtracted from their keys, as a task that has ended.
WITH found AS MATERIALIZED (
    SELECT head.task, head.queue, head.job_id, head.stage, head.part, place.id < 268435456 AS admitted
    FROM (SELECT id FROM reelstate.lanes UNION ALL SELECT id FROM reelstate.limit_queues WHERE waiting) AS place
    CROSS JOIN (VALUES (1), (-1)) AS side (sign)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS task, r.queue, r.job_id, r.stage, r.part FROM reelstate.tasks r
        WHERE r.lane = side.sign * place.id AND r.status = 'ready' AND {unrouted_task}
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT %(limit)s
        FOR UPDATE OF r SKIP LOCKED
    ) AS head
    WHERE EXISTS (SELECT FROM reelstate.limits WHERE settled_at IS NULL AND removed_at IS NULL)
    LIMIT %(limit)s
), ended AS (
    INSERT INTO reelstate.limit_ended (queue) SELECT queue FROM found WHERE queue IS NOT NULL AND admitted
), unexpected AS (
    DELETE FROM reelstate.limit_starts s USING found
    WHERE found.queue IS NOT NULL AND found.admitted AND s.job_id = found.job_id AND s.stage = found.stage
      AND s.part = found.part AND s.at IS NULL
)
UPDATE reelstate.tasks t SET lane = sign(t.lane)::integer * (abs(reelstate.real_lane(t.lane)) + 268435456)
WHERE t.ctid = ANY (ARRAY(SELECT task FROM found))
RETURNING t.job_id
