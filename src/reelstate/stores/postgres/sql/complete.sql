-- Accepted while the task runs under the same token, even after expiry: the row lock orders it against reclaim.
-- Here and below rows are locked in the order of the input, which the caller sorts, by a nested loop over it.
UPDATE reelstate.tasks t
SET status = %(status)s, result = given.result::jsonb, percent = 100, error = NULL, worker_id = NULL,
    lease_expires_at = NULL, finished_at = clock.now, version = t.version + 1, actor = 'worker', reason = NULL,
    changed_at = clock.now
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
            %(result)s::text[]) AS given (job_id, stage, part, token, result),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
  AND t.token = given.token AND t.status = 'running'
RETURNING t.job_id, t.stage, t.part, t.token, t.status
