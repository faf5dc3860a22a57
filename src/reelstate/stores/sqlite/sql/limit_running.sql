-- Running tasks that a limit selects which is not settled and does not count them, and the limits in force that select each: pairs of the limit
-- and its key.
SELECT r.job_id, r.stage, r.part, r.token, abs(r.lane) AS lane, r.queue,
       (SELECT json_group_array(json_array(selecting.id, selecting.key))
        FROM (SELECT m.id, {limit_key} AS key
              FROM limits AS m
              WHERE m.removed_at IS NULL AND {limit_selects} ORDER BY m.id) AS selecting
        WHERE selecting.key IS NOT NULL) AS wanted
FROM tasks AS r
CROSS JOIN jobs AS owning ON owning.id = r.job_id
LEFT JOIN pipelines AS declared ON declared.id = owning.pipeline_id
WHERE r.status = 'running' AND EXISTS (SELECT 1 FROM limits AS m WHERE m.settled_at IS NULL AND m.removed_at IS NULL)
  AND {unrouted_task}
ORDER BY r.job_id, r.stage, r.part LIMIT :limit
