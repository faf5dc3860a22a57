-- The ready tasks of each lane, counted up to a limit, and how long the oldest has waited among the first `heads` of each
-- priority. The index has no time: in it a lane is sorted by priority and job.
-- Differs from PostgreSQL: without LATERAL the heads of a priority are a correlated list of rowids.
WITH RECURSIVE urgency (priority) AS (SELECT 0 UNION ALL SELECT priority + 1 FROM urgency WHERE priority < 10)
SELECT l.pipeline, l.needs,
       (SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_ready
                              WHERE lane = l.id AND status = 'ready' LIMIT :limit)) AS tasks,
       (SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_ready
                              WHERE lane = -l.id AND status = 'ready' LIMIT :limit)) AS isolated,
       :now - (SELECT min(head.ready_at) FROM urgency CROSS JOIN tasks AS head
               WHERE head.rowid IN (
                   SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
                   WHERE r.lane = l.id AND r.status = 'ready' AND r.priority = urgency.priority
                   ORDER BY r.job_id, r.stage, r.part LIMIT :heads)
                  OR head.rowid IN (
                   SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
                   WHERE r.lane = -l.id AND r.status = 'ready' AND r.priority = urgency.priority
                   ORDER BY r.job_id, r.stage, r.part LIMIT :heads)) AS waited
FROM (SELECT id, pipeline, needs FROM lanes ORDER BY id LIMIT :lanes) AS l
