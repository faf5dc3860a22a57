-- Admitted tasks of a limit that no worker has claimed yet arrive again, because its numbers are others now. They are
-- subtracted from their keys, as tasks that have ended.
-- Differs from PostgreSQL: a CTE can't write, so the tasks are kept in a temporary table.
CREATE TEMP TABLE IF NOT EXISTS recalled (task INTEGER PRIMARY KEY);
DELETE FROM recalled;
INSERT INTO recalled (task)
WITH selected (id, lane) AS MATERIALIZED (
    SELECT DISTINCT q.id, q.lane
    FROM limit_keys AS k CROSS JOIN limit_queues AS q CROSS JOIN json_each(q.keys) AS part
    WHERE k.limit_id = :limit_id AND part.value = k.id
)
SELECT r.rowid
FROM (SELECT DISTINCT lane FROM selected) AS place CROSS JOIN tasks AS r INDEXED BY tasks_ready
WHERE r.lane IN (place.lane, -place.lane) AND r.status = 'ready' AND r.queue IN (SELECT id FROM selected);
INSERT INTO limit_ended (queue) SELECT t.queue FROM recalled CROSS JOIN tasks AS t ON t.rowid = recalled.task;
DELETE FROM limit_starts WHERE at IS NULL AND EXISTS (
    SELECT 1 FROM recalled CROSS JOIN tasks AS t ON t.rowid = recalled.task
    WHERE t.job_id = limit_starts.job_id AND t.stage = limit_starts.stage AND t.part = limit_starts.part);
UPDATE tasks SET lane = lane + CASE WHEN lane > 0 THEN 268435456 ELSE -268435456 END
WHERE rowid IN (SELECT task FROM recalled)
RETURNING job_id
