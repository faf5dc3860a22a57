-- Move the first tasks of queues to the lanes that workers claim from; paused ones are left out.
-- Differs from PostgreSQL: without LATERAL the probe of a queue is a correlated list of rowids, and all probes have one
-- limit, the most that any queue gets.
WITH given (queue, tasks) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
), paused AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS tasks
), head AS MATERIALIZED (
    SELECT t.rowid AS task, given.queue, given.tasks,
           row_number() OVER (PARTITION BY given.queue ORDER BY t.priority DESC, t.job_id, t.stage, t.part) AS number
    FROM given CROSS JOIN tasks AS t
    WHERE t.rowid IN (
        SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
        WHERE r.lane IN (given.queue, -given.queue) AND r.status = 'ready'
          AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :most)
)
UPDATE tasks SET lane = CASE WHEN tasks.lane > 0 THEN q.lane ELSE -q.lane END
FROM head CROSS JOIN limit_queues AS q ON q.id = head.queue
WHERE tasks.rowid = head.task AND head.number <= head.tasks
RETURNING tasks.job_id, tasks.stage, tasks.part, tasks.queue
