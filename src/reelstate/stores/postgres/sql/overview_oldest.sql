-- The tasks that have been ready for longest, among the first `heads` of each lane and priority, as in `measure_ready`.
-- Tasks that a pause has parked are not among them.
SELECT head.job_id, head.stage, head.part, head.ready_at, j.pipeline_id
FROM (SELECT id FROM reelstate.lanes ORDER BY id LIMIT %(lanes)s) AS l
CROSS JOIN LATERAL (VALUES (l.id), (-l.id)) AS queue (lane)
CROSS JOIN LATERAL generate_series(
    0, CASE WHEN EXISTS (SELECT FROM reelstate.tasks WHERE lane = queue.lane AND status = 'ready') THEN 10 ELSE -1 END
) AS urgency (priority)
CROSS JOIN LATERAL (
    SELECT job_id, stage, part, ready_at FROM reelstate.tasks
    WHERE lane = queue.lane AND status = 'ready' AND priority = urgency.priority
    ORDER BY job_id, stage, part LIMIT %(heads)s) AS head
JOIN reelstate.jobs j ON j.id = head.job_id
WHERE %(owner)s::text IS NULL OR j.user_id = %(owner)s::text
ORDER BY head.ready_at, head.job_id, head.stage, head.part LIMIT %(limit)s
