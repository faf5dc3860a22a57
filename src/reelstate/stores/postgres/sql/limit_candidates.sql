-- The queues that may have room, the most urgent and then the one with the smallest share first, with the priorities of
-- their first tasks that are not paused, and the number of all, up to `cap` and one. `demand` is how many tasks their lane lacks to have as many as a worker asks for.
WITH paused AS MATERIALIZED (
    SELECT coalesce(bool_or(scope IN ('user', 'stage')), false) AS tasks, coalesce(bool_or(scope = 'all'), false) AS everything,
           coalesce(array_agg(name) FILTER (WHERE scope = 'pipeline'), '{}') AS pipelines
    FROM reelstate.pauses WHERE resumed_at IS NULL
), chosen AS MATERIALIZED (
    SELECT q.id, q.lane, q.keys, q.turn, q.priority FROM reelstate.limit_queues q
    WHERE q.waiting AND q.blocked_by IS NULL AND NOT (SELECT everything FROM paused)
      AND NOT EXISTS (SELECT FROM reelstate.lanes l WHERE l.id = q.lane AND l.pipeline = ANY ((SELECT pipelines FROM paused)::text[]))
    ORDER BY q.priority DESC, q.turn LIMIT %(limit)s
)
SELECT q.id, q.lane, to_jsonb(q.keys) AS keys, q.turn, head.priorities, counted.tasks, %(demand)s - lane.tasks AS demand
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
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks FROM (
        SELECT FROM reelstate.tasks WHERE lane = q.lane AND status = 'ready' LIMIT %(demand)s) AS counted
) AS lane
ORDER BY q.priority DESC, q.turn
