-- A job leaves `pending` with its first claim.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), waiting AS MATERIALIZED (
    SELECT id FROM reelstate.jobs
    WHERE id = ANY (%(job_ids)s::bigint[]) AND status = 'pending'
    ORDER BY id FOR UPDATE
)
UPDATE reelstate.jobs j
SET status = j.phase, started_at = coalesce(j.started_at, clock.now), version = j.version + 1, actor = 'worker',
    reason = NULL, changed_at = clock.now
FROM waiting, clock
WHERE j.id = waiting.id
