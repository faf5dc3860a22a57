-- The queues that may have room: of each lane in turn the most urgent and then the one with the smallest share, so that no
-- lane fills the window; none of a lane that has what a worker asks for and no limit with a number. With the priorities of
-- their first tasks that are not paused, and the number of all, up to `cap` and one. `demand` is how many tasks their lane lacks to have as many as a worker asks for.
-- Differs from PostgreSQL: without LATERAL the counts are correlated subqueries.
WITH paused AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS tasks
), place AS MATERIALIZED (
    SELECT l.id AS lane,
           :demand - (SELECT count(*) FROM (SELECT 1 FROM tasks AS t INDEXED BY tasks_ready
                                            WHERE t.lane = l.id AND t.status = 'ready' LIMIT :demand)) AS demand,
           EXISTS (SELECT 1 FROM limits AS m
                   WHERE m.removed_at IS NULL AND (m.running IS NOT NULL OR m.starts IS NOT NULL)
                     AND (m.pipeline IS NULL OR m.pipeline = l.pipeline)) AS numbered
    FROM lanes AS l
    WHERE NOT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL
                      AND (scope = 'all' OR scope = 'pipeline' AND name = l.pipeline))
      AND EXISTS (SELECT 1 FROM limit_queues AS q WHERE q.lane = l.id AND q.waiting AND q.blocked_by IS NULL)
), chosen AS MATERIALIZED (
    SELECT q.id, q.lane, q.keys, q.turn, q.priority, place.demand,
           row_number() OVER (PARTITION BY q.lane ORDER BY q.priority DESC, q.turn) AS number
    FROM place CROSS JOIN limit_queues AS q
    WHERE (place.demand > 0 OR place.numbered)
      AND q.id IN (SELECT o.id FROM limit_queues AS o
                   WHERE o.lane = place.lane AND o.waiting AND o.blocked_by IS NULL
                   ORDER BY o.priority DESC, o.turn LIMIT :limit)
    ORDER BY number LIMIT :limit
)
SELECT q.id, q.lane, q.keys, q.turn, q.priority,
       (SELECT json_group_array(priority) FROM (
            SELECT r.priority FROM tasks AS r INDEXED BY tasks_ready
            WHERE r.lane IN (q.id, -q.id) AND r.status = 'ready' AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
            ORDER BY r.priority DESC LIMIT :cap)) AS priorities,
       (SELECT count(*) FROM (SELECT 1 FROM tasks AS t INDEXED BY tasks_ready
                              WHERE t.lane IN (q.id, -q.id) AND t.status = 'ready' LIMIT :cap + 1)) AS tasks,
       q.demand
FROM chosen AS q
ORDER BY q.priority DESC, q.turn
