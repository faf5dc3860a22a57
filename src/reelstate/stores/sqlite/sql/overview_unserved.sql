-- Lanes with ready tasks that no active worker may claim, each with its first task. Parked tasks are in other lanes.
SELECT l.pipeline, l.needs, t.job_id, t.ready_at AS at
FROM (SELECT id, pipeline, needs FROM lanes ORDER BY id LIMIT :lanes) AS l
CROSS JOIN tasks AS t ON t.rowid = coalesce(
    (SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready WHERE r.lane = l.id AND r.status = 'ready'
     ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT 1),
    (SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready WHERE r.lane = -l.id AND r.status = 'ready'
     ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT 1))
WHERE NOT EXISTS (SELECT 1 FROM workers AS w JOIN worker_names AS n ON n.name = w.name
    WHERE w.status = 'active' AND n.enabled AND l.pipeline IN (SELECT value FROM json_each(w.pipelines))
      AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                      WHERE needed.value NOT IN (SELECT value FROM json_each(w.capabilities))))
ORDER BY l.pipeline, l.needs LIMIT :limit
