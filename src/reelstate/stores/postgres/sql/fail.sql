-- Record failed attempts; the totals of the workers change in the same statement.
WITH moved AS (
UPDATE reelstate.tasks t
SET status = 'error', error = given.error::jsonb, worker_id = NULL, lease_expires_at = NULL,
    run_after = CASE WHEN given.retryable AND t.attempt < t.max_attempts
                     THEN clock.now + make_interval(secs => given.retry_in) END,
    finished_at = CASE WHEN NOT given.retryable OR t.attempt >= t.max_attempts THEN greatest(clock.now, t.started_at) END,
    reason = CASE WHEN given.retryable AND t.attempt < t.max_attempts THEN 'will be tried again' END,
    version = t.version + 1, actor = 'worker', changed_at = clock.now
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
            %(retryable)s::boolean[], %(retry_in)s::float8[], %(error)s::text[])
         AS given (job_id, stage, part, token, retryable, retry_in, error),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
  AND t.token = given.token AND t.status = 'running'
RETURNING t.job_id, t.stage, t.part, t.token, t.finished_at IS NOT NULL AS final, t.error, t.last_worker
), counted AS (
    UPDATE reelstate.worker_instances i SET failed = i.failed + counted.number
    FROM (SELECT last_worker, count(*) AS number FROM moved GROUP BY last_worker ORDER BY last_worker) AS counted
    WHERE i.id = counted.last_worker
)
SELECT job_id, stage, part, token, final, error FROM moved
