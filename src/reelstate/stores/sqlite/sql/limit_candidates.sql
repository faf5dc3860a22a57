-- The queues that may have room, the most urgent and then the one with the smallest share first, with the priorities of
-- their first tasks that are not paused, and the number of all, up to `cap` and one. `demand` is how many tasks their lane lacks to have as many as a worker asks for.
-- Differs from PostgreSQL: without LATERAL the counts are correlated subqueries.
WITH paused AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS tasks
), chosen AS MATERIALIZED (
    SELECT q.id, q.lane, q.keys, q.turn, q.priority FROM limit_queues AS q
    WHERE q.waiting AND q.blocked_by IS NULL
      AND NOT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope = 'all')
      AND NOT EXISTS (SELECT 1 FROM lanes AS l CROSS JOIN pauses AS p
                      WHERE l.id = q.lane AND p.resumed_at IS NULL AND p.scope = 'pipeline' AND p.name = l.pipeline)
    ORDER BY q.priority DESC, q.turn LIMIT :limit
)
SELECT q.id, q.lane, q.keys, q.turn,
       (SELECT json_group_array(priority) FROM (
            SELECT r.priority FROM tasks AS r INDEXED BY tasks_ready
            WHERE r.lane IN (q.id, -q.id) AND r.status = 'ready' AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
            ORDER BY r.priority DESC LIMIT :cap)) AS priorities,
       (SELECT count(*) FROM (SELECT 1 FROM tasks AS t INDEXED BY tasks_ready
                              WHERE t.lane IN (q.id, -q.id) AND t.status = 'ready' LIMIT :cap + 1)) AS tasks,
       :demand - (SELECT count(*) FROM (SELECT 1 FROM tasks AS t INDEXED BY tasks_ready
                                        WHERE t.lane = q.lane AND t.status = 'ready' LIMIT :demand)) AS demand
FROM chosen AS q
ORDER BY q.priority DESC, q.turn
