-- Renew leases and store progress. A value that differs from the stored one is progress; a repeated one only renews.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), held AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part, given.percent, given.message, given.step, given.checkpoint,
           CASE WHEN given.percent IS DISTINCT FROM t.percent AND given.percent IS NOT NULL
                  OR given.message IS DISTINCT FROM t.message AND given.message IS NOT NULL
                  OR given.step IS DISTINCT FROM t.step AND given.step IS NOT NULL
                  OR given.checkpoint IS NOT NULL
                THEN (SELECT now FROM clock) ELSE t.progress_at END AS progress_at
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
                %(percent)s::float4[], %(message)s::text[], %(step)s::text[], %(checkpoint)s::text[])
         AS given (job_id, stage, part, token, percent, message, step, checkpoint)
    JOIN reelstate.tasks t USING (job_id, stage, part)
    WHERE t.status = 'running' AND t.token = given.token
    ORDER BY t.job_id, t.stage, t.part
    FOR UPDATE OF t
)
UPDATE reelstate.tasks t
SET percent = coalesce(held.percent, t.percent), message = coalesce(held.message, t.message),
    step = coalesce(held.step, t.step), checkpoint = coalesce(held.checkpoint::jsonb, t.checkpoint),
    progress_at = held.progress_at,
    lease_expires_at = least(clock.now + make_interval(secs => t.lease),
                             held.progress_at + make_interval(secs => t.stall_after),
                             t.claimed_at + make_interval(secs => t.timeout))
FROM held, clock
WHERE t.job_id = held.job_id AND t.stage = held.stage AND t.part = held.part
RETURNING t.job_id, t.stage, t.part, t.token
