-- Return tasks to the queue; the run does not count as an attempt. In an inactive job they wait as `new`.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), held AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[])
         AS given (job_id, stage, part, token)
    JOIN reelstate.tasks t USING (job_id, stage, part)
    WHERE t.status = 'running' AND t.token = given.token
    ORDER BY t.job_id, t.stage, t.part
    FOR UPDATE OF t
), parents AS MATERIALIZED (
    SELECT id, status IN ('failed', 'quarantined', 'completed', 'cancelled') AS inactive
    FROM reelstate.jobs WHERE id = ANY (ARRAY(SELECT job_id FROM held)) ORDER BY id FOR SHARE
)
UPDATE reelstate.tasks t
SET status = CASE WHEN held.inactive THEN 'new' ELSE 'ready' END,
    ready_at = CASE WHEN held.inactive THEN NULL ELSE clock.now END,
    attempt = t.attempt - 1, worker_id = NULL, lease_expires_at = NULL,
    version = t.version + 1, actor = %(actor)s, reason = %(reason)s, changed_at = clock.now
FROM (SELECT *, job_id = ANY (ARRAY(SELECT id FROM parents WHERE inactive)) AS inactive FROM held) AS held, clock
WHERE t.job_id = held.job_id AND t.stage = held.stage AND t.part = held.part
RETURNING t.job_id, t.stage, t.part, t.token
