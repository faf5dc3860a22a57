-- The worker, what it runs now, and the first isolated task it could take: one that has lost a worker before and runs
-- alone. A claim waits here for another of the same worker, and a disable for both. Only the next statement sees what the
-- other has taken, so `claim` counts again.
WITH named AS MATERIALIZED (
    SELECT w.status, n.enabled, coalesce(%(pipelines)s::text[], w.pipelines) AS pipelines,
           coalesce(%(capabilities)s::text[], w.capabilities) AS capabilities
    FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
    WHERE w.id = %(worker_id)s
    FOR NO KEY UPDATE OF w FOR SHARE OF n
), isolated AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part
    FROM named JOIN reelstate.lanes l ON l.pipeline = ANY (named.pipelines) AND l.needs <@ named.capabilities
    CROSS JOIN LATERAL (
        SELECT job_id, stage, part, priority FROM reelstate.tasks
        WHERE lane = -l.id AND status = 'ready'
        ORDER BY priority DESC, job_id, stage, part LIMIT 1
    ) t
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT 1
), held AS MATERIALIZED (
    SELECT count(*) AS running, coalesce(bool_or(t.lane < 0), false) AS runs_isolated
    FROM reelstate.tasks t WHERE t.worker_id = %(worker_id)s
)
SELECT named.status, named.enabled, held.running, held.runs_isolated, isolated.job_id, isolated.stage, isolated.part
FROM named CROSS JOIN held LEFT JOIN isolated ON true
