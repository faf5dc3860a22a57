-- The ready tasks of each lane, counted up to a limit, and how long the oldest has waited among the first `heads` of each
-- priority. The index has no time: in it a lane is sorted by priority and job.
SELECT l.pipeline, l.needs, ready.tasks, isolated.tasks AS isolated,
       extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - oldest.ready_at)::float8 AS waited
FROM (SELECT id, pipeline, needs FROM reelstate.lanes ORDER BY id LIMIT %(lanes)s) AS l
CROSS JOIN LATERAL (SELECT count(*) AS tasks FROM (
    SELECT FROM reelstate.tasks WHERE lane = l.id AND status = 'ready' LIMIT %(limit)s) AS counted) AS ready
CROSS JOIN LATERAL (SELECT count(*) AS tasks FROM (
    SELECT FROM reelstate.tasks WHERE lane = -l.id AND status = 'ready' LIMIT %(limit)s) AS counted) AS isolated
CROSS JOIN LATERAL (
    SELECT min(head.ready_at) AS ready_at
    FROM (VALUES (l.id, ready.tasks), (-l.id, isolated.tasks)) AS queue (lane, tasks)
    CROSS JOIN LATERAL generate_series(0, CASE WHEN queue.tasks > 0 THEN 10 ELSE -1 END) AS urgency (priority)
    CROSS JOIN LATERAL (
        SELECT ready_at FROM reelstate.tasks
        WHERE lane = queue.lane AND status = 'ready' AND priority = urgency.priority
        ORDER BY job_id, stage, part LIMIT %(heads)s) AS head) AS oldest
