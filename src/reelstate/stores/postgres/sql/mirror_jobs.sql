-- The first ready tasks of some jobs in the order of claims: the index is probed by job, so finished tasks of the
-- same job cost nothing.
SELECT t.job_id, t.stage, t.part, t.priority, t.lane, l.pipeline, l.needs, l.prefers
FROM reelstate.jobs j
JOIN reelstate.pipelines p ON p.id = j.pipeline_id
JOIN reelstate.lanes l ON l.pipeline = p.name
CROSS JOIN (VALUES (1), (-1)) AS side (sign)
CROSS JOIN LATERAL (
    SELECT job_id, stage, part, priority, lane FROM reelstate.tasks
    WHERE lane = l.id * side.sign AND status = 'ready' AND priority = j.priority AND job_id = j.id
    ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
) t
WHERE j.id = ANY (%(job_ids)s::bigint[])
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT %(limit)s
