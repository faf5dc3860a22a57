-- Ready tasks that came to their lanes, or to queues of other limits, before a limit that selects them was known arrive
-- again. One that was admitted by other limits is subtracted from their keys, as a task that has ended.
-- Differs from PostgreSQL: a CTE can't write, so the tasks are kept in a temporary table.
CREATE TEMP TABLE IF NOT EXISTS misplaced (task INTEGER PRIMARY KEY, lane INTEGER NOT NULL, admitted INTEGER NOT NULL);
DELETE FROM misplaced;
INSERT INTO misplaced (task, lane, admitted)
SELECT r.rowid, place.lane, place.id = place.lane
FROM (SELECT id, id AS lane FROM lanes UNION ALL SELECT id, lane FROM limit_queues WHERE waiting) AS place
CROSS JOIN tasks AS r INDEXED BY tasks_ready
WHERE EXISTS (SELECT 1 FROM limits WHERE settled_at IS NULL AND removed_at IS NULL)
  AND r.lane IN (place.id, -place.id) AND r.status = 'ready' AND {unrouted_task}
LIMIT :limit;
INSERT INTO limit_ended (queue)
SELECT t.queue FROM misplaced AS found CROSS JOIN tasks AS t ON t.rowid = found.task
WHERE t.queue IS NOT NULL AND found.admitted;
DELETE FROM limit_starts WHERE at IS NULL AND EXISTS (
    SELECT 1 FROM misplaced AS found CROSS JOIN tasks AS t ON t.rowid = found.task
    WHERE found.admitted AND t.job_id = limit_starts.job_id AND t.stage = limit_starts.stage AND t.part = limit_starts.part);
UPDATE tasks SET lane = CASE WHEN tasks.lane > 0 THEN 1 ELSE -1 END * (found.lane + 268435456)
FROM misplaced AS found
WHERE tasks.rowid = found.task
RETURNING tasks.job_id
