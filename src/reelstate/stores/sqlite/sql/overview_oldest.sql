-- The tasks that have been ready for longest, among the first `heads` of each lane and priority, as in `measure_ready`.
-- Tasks that a pause has parked are not among them.
-- Differs from PostgreSQL: without LATERAL the heads of a priority are a correlated list of rowids.
WITH RECURSIVE urgency (priority) AS (SELECT 0 UNION ALL SELECT priority + 1 FROM urgency WHERE priority < 10),
queue (lane) AS (
    SELECT id FROM (SELECT id FROM lanes ORDER BY id LIMIT :lanes)
    UNION ALL
    SELECT -id FROM (SELECT id FROM lanes ORDER BY id LIMIT :lanes)
)
SELECT head.job_id, head.stage, head.part, head.ready_at, j.pipeline_id
FROM queue CROSS JOIN urgency CROSS JOIN tasks AS head
CROSS JOIN jobs AS j ON j.id = head.job_id
WHERE head.rowid IN (
    SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
    WHERE r.lane = queue.lane AND r.status = 'ready' AND r.priority = urgency.priority
    ORDER BY r.job_id, r.stage, r.part LIMIT :heads)
  AND (:owner IS NULL OR j.user_id = :owner)
ORDER BY head.ready_at, head.job_id, head.stage, head.part LIMIT :limit
