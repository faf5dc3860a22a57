-- The first ready tasks of all lanes in the order of claims, isolated tasks included.
SELECT t.job_id, t.stage, t.part, t.priority, t.lane, l.pipeline, l.needs, l.prefers
FROM reelstate.lanes l
CROSS JOIN (VALUES (1), (-1)) AS side (sign)
CROSS JOIN LATERAL (
    SELECT job_id, stage, part, priority, lane FROM reelstate.tasks
    WHERE lane = l.id * side.sign AND status = 'ready'
    ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
) t
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT %(limit)s
