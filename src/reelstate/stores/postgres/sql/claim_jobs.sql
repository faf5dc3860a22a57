-- The jobs of claimed tasks. A job leaves `pending` with its first claim.
WITH begun AS (
    UPDATE reelstate.jobs j
    SET status = j.phase, started_at = coalesce(j.started_at, clock.now), version = j.version + 1, actor = 'worker',
        reason = NULL, changed_at = clock.now
    FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
    WHERE j.id = ANY (%(job_ids)s::bigint[]) AND (j.status = 'pending') IS TRUE
)
SELECT id, pipeline_id, spec, status, CASE WHEN status = 'pending' THEN phase END AS begun, trace
FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[])
