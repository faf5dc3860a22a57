-- Tasks that have arrived, the most urgent of each lane first, and the limits in force that select each: pairs of the limit
-- and its key.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids.
WITH side (sign) AS (VALUES (1), (-1))
SELECT r.job_id, r.stage, r.part, l.id AS lane, r.priority,
       (SELECT json_group_array(json_array(selecting.id, selecting.key))
        FROM (SELECT m.id, {limit_key} AS key
              FROM limits AS m
              WHERE m.removed_at IS NULL AND {limit_selects} ORDER BY m.id) AS selecting
        WHERE selecting.key IS NOT NULL) AS wanted
FROM lanes AS l CROSS JOIN side CROSS JOIN tasks AS r
CROSS JOIN jobs AS owning ON owning.id = r.job_id
LEFT JOIN pipelines AS declared ON declared.id = owning.pipeline_id
WHERE r.rowid IN (
    SELECT t.rowid FROM tasks AS t INDEXED BY tasks_ready
    WHERE t.lane = side.sign * (l.id + 268435456) AND t.status = 'ready'
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT :limit)
LIMIT :limit
