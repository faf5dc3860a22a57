-- Park tasks of paused stages and users among the first `limit` of each lane, so that claims no longer meet them, and of each
-- queue of a limit. Their status does not change, so there is no event. A task that a limit had admitted is subtracted
-- from its keys, as one that has ended.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
CREATE TEMP TABLE IF NOT EXISTS parked (task INTEGER PRIMARY KEY);
DELETE FROM parked;
INSERT INTO parked (task)
WITH side (sign) AS (VALUES (1), (-1)), found AS MATERIALIZED (
    SELECT r.rowid AS task
    FROM (SELECT id FROM lanes UNION ALL SELECT id FROM limit_queues WHERE waiting) AS l CROSS JOIN side CROSS JOIN tasks AS r
    WHERE EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage'))
      AND r.rowid IN (
        SELECT h.rowid FROM tasks AS h INDEXED BY tasks_ready
        WHERE h.lane = l.id * side.sign AND h.status = 'ready'
        ORDER BY h.priority DESC, h.job_id, h.stage, h.part LIMIT :limit)
      AND {paused_task}
)
SELECT task FROM found;
INSERT INTO limit_ended (queue)
SELECT t.queue FROM parked CROSS JOIN tasks AS t ON t.rowid = parked.task
WHERE t.queue IS NOT NULL AND abs(t.lane) < 268435456;
DELETE FROM limit_starts WHERE at IS NULL AND EXISTS (
    SELECT 1 FROM tasks AS t CROSS JOIN parked ON parked.task = t.rowid
    WHERE t.job_id = limit_starts.job_id AND t.stage = limit_starts.stage AND t.part = limit_starts.part);
UPDATE tasks SET lane = lane + CASE WHEN lane > 0 THEN 1073741824 ELSE -1073741824 END
WHERE rowid IN (SELECT task FROM parked)
RETURNING job_id
