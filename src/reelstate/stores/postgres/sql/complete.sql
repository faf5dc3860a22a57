-- Accepted while the task runs under the same token, even after expiry: the row lock orders it against reclaim.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), held AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part, given.status, given.result
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
                %(status)s::text[], %(result)s::text[]) AS given (job_id, stage, part, token, status, result)
    JOIN reelstate.tasks t USING (job_id, stage, part)
    WHERE t.status = 'running' AND t.token = given.token
    ORDER BY t.job_id, t.stage, t.part
    FOR UPDATE OF t
)
UPDATE reelstate.tasks t
SET status = held.status, result = held.result::jsonb, percent = 100, error = NULL, worker_id = NULL,
    lease_expires_at = NULL, finished_at = clock.now, version = t.version + 1, actor = 'worker', reason = NULL,
    changed_at = clock.now
FROM held, clock
WHERE t.job_id = held.job_id AND t.stage = held.stage AND t.part = held.part
RETURNING t.job_id, t.stage, t.part, t.token, t.status
