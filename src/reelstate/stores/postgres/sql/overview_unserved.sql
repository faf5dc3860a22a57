-- Lanes with ready tasks that no active worker may claim, each with its first task. Parked tasks are in other lanes.
SELECT l.pipeline, l.needs, first.job_id, first.ready_at AS at
FROM (SELECT id, pipeline, needs FROM reelstate.lanes ORDER BY id LIMIT %(lanes)s) AS l
CROSS JOIN LATERAL (
    SELECT t.job_id, t.ready_at
    FROM (VALUES (l.id), (-l.id)) AS queue (lane)
    CROSS JOIN LATERAL (
        SELECT job_id, ready_at FROM reelstate.tasks WHERE lane = queue.lane AND status = 'ready'
        ORDER BY priority DESC, job_id, stage, part LIMIT 1) AS t
    LIMIT 1) AS first
WHERE NOT EXISTS (SELECT FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
    WHERE w.status = 'active' AND n.enabled AND l.pipeline = ANY (w.pipelines) AND l.needs <@ w.capabilities)
ORDER BY l.pipeline, l.needs LIMIT %(limit)s
