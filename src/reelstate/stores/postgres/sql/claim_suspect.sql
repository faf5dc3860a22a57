-- The first task that has cost a worker before and may therefore only be run alone.
SELECT t.job_id, t.stage, t.part
FROM reelstate.lanes l
CROSS JOIN LATERAL (
    SELECT job_id, stage, part, priority FROM reelstate.tasks
    WHERE lane = -l.id AND status = 'ready'
    ORDER BY priority DESC, job_id, stage, part LIMIT 1
) t
WHERE l.pipeline = ANY (%(pipelines)s::text[]) AND l.needs <@ %(capabilities)s::text[]
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT 1
