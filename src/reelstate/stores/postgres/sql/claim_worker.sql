-- The worker, what it runs now, and the first isolated task it could take: one that has lost a worker before and runs
-- alone. A claim waits here for another of the same worker, and a disable for both. Only the next statement sees what the
-- other has taken, so `claim` counts again.
WITH named AS MATERIALIZED (
    SELECT w.status, n.enabled,
           EXISTS (SELECT FROM reelstate.pauses p WHERE p.resumed_at IS NULL
                   AND (p.scope = 'all' OR p.scope = 'worker' AND p.name = w.name)) AS paused, coalesce(%(pipelines)s::text[], w.pipelines) AS pipelines,
           coalesce(%(capabilities)s::text[], w.capabilities) AS capabilities
    FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
    WHERE w.id = %(worker_id)s
    FOR NO KEY UPDATE OF w FOR SHARE OF n
), isolated AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part
    FROM named JOIN reelstate.lanes l ON l.pipeline = ANY (named.pipelines) AND l.needs <@ named.capabilities
        AND NOT EXISTS (SELECT FROM reelstate.pauses p
                        WHERE p.resumed_at IS NULL AND p.scope = 'pipeline' AND p.name = l.pipeline)
    CROSS JOIN LATERAL (
        SELECT r.job_id, r.stage, r.part, r.priority FROM reelstate.tasks r
        WHERE r.lane = -l.id AND r.status = 'ready' AND NOT {paused_task} AND NOT {unrouted_task}
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT 1
    ) t
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT 1
), held AS MATERIALIZED (
    SELECT count(*) AS running, coalesce(bool_or(t.lane < 0), false) AS runs_isolated
    FROM reelstate.tasks t WHERE t.worker_id = %(worker_id)s
)
SELECT named.status, named.enabled, held.running, held.runs_isolated, isolated.job_id, isolated.stage, isolated.part,
       named.paused,
       EXISTS (SELECT FROM reelstate.pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS parks,
       EXISTS (SELECT FROM reelstate.limits WHERE removed_at IS NULL OR settled_at IS NULL) AS limited
FROM named CROSS JOIN held LEFT JOIN isolated ON true
