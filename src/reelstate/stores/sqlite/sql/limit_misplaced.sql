-- Ready tasks that came to their lanes before a limit that selects them was known arrive again. One that was admitted by
-- other limits is subtracted from their keys, as a task that has ended.
-- Differs from PostgreSQL: a CTE can't write, so a task that was admitted is moved by the same condition twice.
INSERT INTO limit_ended (queue)
SELECT r.queue FROM lanes AS l CROSS JOIN tasks AS r INDEXED BY tasks_ready
WHERE EXISTS (SELECT 1 FROM limits WHERE settled_at IS NULL AND removed_at IS NULL)
  AND r.lane IN (l.id, -l.id) AND r.status = 'ready' AND r.queue IS NOT NULL AND {unrouted_task};
DELETE FROM limit_starts WHERE at IS NULL AND EXISTS (
    SELECT 1 FROM tasks AS r
    WHERE r.job_id = limit_starts.job_id AND r.stage = limit_starts.stage AND r.part = limit_starts.part
      AND r.status = 'ready' AND r.queue IS NOT NULL AND abs(r.lane) < 268435456 AND {unrouted_task});
UPDATE tasks SET lane = lane + CASE WHEN lane > 0 THEN 268435456 ELSE -268435456 END
WHERE rowid IN (
    SELECT r.rowid FROM lanes AS l CROSS JOIN tasks AS r INDEXED BY tasks_ready
    WHERE EXISTS (SELECT 1 FROM limits WHERE settled_at IS NULL AND removed_at IS NULL)
      AND r.lane IN (l.id, -l.id) AND r.status = 'ready' AND r.queue IS NOT NULL AND {unrouted_task}
    UNION ALL
    SELECT rowid FROM (
        SELECT r.rowid FROM lanes AS l CROSS JOIN tasks AS r INDEXED BY tasks_ready
        WHERE EXISTS (SELECT 1 FROM limits WHERE settled_at IS NULL AND removed_at IS NULL)
          AND r.lane IN (l.id, -l.id) AND r.status = 'ready' AND r.queue IS NULL AND {unrouted_task}
        LIMIT :limit))
RETURNING job_id
