-- The queues that may have room: of each lane in turn the most urgent and then the one with the smallest share, so that no
-- lane fills the window; none of a lane that has what a worker asks for and no limit with a number. With the priorities of
-- their first tasks that are not paused, and the number of all, up to `cap` and one. `demand` is how many tasks their lane lacks to have as many as a worker asks for.
WITH paused AS MATERIALIZED (
    SELECT coalesce(bool_or(scope IN ('user', 'stage')), false) AS tasks, coalesce(bool_or(scope = 'all'), false) AS everything,
           coalesce(array_agg(name) FILTER (WHERE scope = 'pipeline'), '{}') AS pipelines
    FROM reelstate.pauses WHERE resumed_at IS NULL
), place AS MATERIALIZED (
    SELECT l.id AS lane, %(demand)s - counted.tasks AS demand,
           EXISTS (SELECT FROM reelstate.limits m
                   WHERE m.removed_at IS NULL AND (m.running IS NOT NULL OR m.starts IS NOT NULL)
                     AND (m.pipeline IS NULL OR m.pipeline = l.pipeline)) AS numbered
    FROM reelstate.lanes l
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS tasks FROM (
            SELECT FROM reelstate.tasks WHERE lane = l.id AND status = 'ready' LIMIT %(demand)s) AS ready
    ) AS counted
    WHERE NOT (SELECT everything FROM paused) AND l.pipeline <> ALL ((SELECT pipelines FROM paused)::text[])
      AND EXISTS (SELECT FROM reelstate.limit_queues q WHERE q.lane = l.id AND q.waiting AND q.blocked_by IS NULL)
), chosen AS MATERIALIZED (
    SELECT q.id, q.lane, q.keys, q.turn, q.priority, place.demand, q.number
    FROM place CROSS JOIN LATERAL (
        SELECT o.*, row_number() OVER (ORDER BY o.priority DESC, o.turn) AS number FROM reelstate.limit_queues o
        WHERE o.lane = place.lane AND o.waiting AND o.blocked_by IS NULL
        ORDER BY o.priority DESC, o.turn LIMIT %(limit)s
    ) AS q
    WHERE place.demand > 0 OR place.numbered
    ORDER BY q.number LIMIT %(limit)s
)
SELECT q.id, q.lane, to_jsonb(q.keys) AS keys, q.turn, q.priority, head.priorities, counted.tasks, q.demand
FROM chosen q
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_agg(first.priority ORDER BY first.priority DESC), '[]') AS priorities
    FROM (VALUES (q.id), (-q.id)) AS side (lane)
    CROSS JOIN LATERAL (
        SELECT r.priority FROM reelstate.tasks r
        WHERE r.lane = side.lane AND r.status = 'ready' AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT %(cap)s
    ) AS first
) AS head
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS tasks FROM (
        SELECT FROM reelstate.tasks WHERE lane IN (q.id, -q.id) AND status = 'ready' LIMIT %(cap)s + 1) AS each
) AS counted
ORDER BY q.priority DESC, q.turn
