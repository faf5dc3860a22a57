WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), held AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part, given.error, given.retry_in,
           NOT given.retryable OR t.attempt >= t.max_attempts AS final
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
                %(retryable)s::boolean[], %(retry_in)s::float8[], %(error)s::text[])
         AS given (job_id, stage, part, token, retryable, retry_in, error)
    JOIN reelstate.tasks t USING (job_id, stage, part)
    WHERE t.status = 'running' AND t.token = given.token
    ORDER BY t.job_id, t.stage, t.part
    FOR UPDATE OF t
)
UPDATE reelstate.tasks t
SET status = 'error', error = held.error::jsonb, worker_id = NULL, lease_expires_at = NULL,
    run_after = CASE WHEN NOT held.final THEN clock.now + make_interval(secs => held.retry_in) END,
    finished_at = CASE WHEN held.final THEN clock.now END,
    version = t.version + 1, actor = 'worker', changed_at = clock.now,
    reason = CASE WHEN NOT held.final THEN 'will be tried again' END
FROM held, clock
WHERE t.job_id = held.job_id AND t.stage = held.stage AND t.part = held.part
RETURNING t.job_id, t.stage, t.part, t.token, held.final, t.error
