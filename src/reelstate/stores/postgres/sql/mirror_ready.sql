-- The first ready tasks of all lanes in the order of claims, isolated tasks included.
-- Paused tasks are left out: no worker could claim them.
SELECT t.job_id, t.stage, t.part, t.priority, t.lane, l.pipeline, l.needs, l.prefers
FROM reelstate.lanes l
CROSS JOIN (VALUES (1), (-1)) AS side (sign)
CROSS JOIN LATERAL (
    SELECT r.job_id, r.stage, r.part, r.priority, r.lane FROM reelstate.tasks r
    WHERE r.lane = l.id * side.sign AND r.status = 'ready'
      AND NOT {paused_task}
    ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT %(limit)s
) t
WHERE NOT EXISTS (SELECT FROM reelstate.pauses p WHERE p.resumed_at IS NULL
    AND (p.scope = 'all' OR p.scope = 'pipeline' AND p.name = l.pipeline))
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT %(limit)s
