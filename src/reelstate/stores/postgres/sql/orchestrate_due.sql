-- Make due tasks ready; a due task of an inactive job goes back to `new`.
-- The share lock orders this against a transaction that stops the job.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), due AS MATERIALIZED (
    SELECT t.job_id, t.stage, t.part, t.status AS origin
    FROM reelstate.tasks t
    WHERE t.run_after IS NOT NULL AND t.status IN ('new', 'error') AND t.run_after <= (SELECT now FROM clock)
      AND (%(only)s::bigint[] IS NULL OR t.job_id = ANY (%(only)s::bigint[])) AND t.job_id <> ALL (%(without)s::bigint[])
    ORDER BY t.run_after LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), parents AS MATERIALIZED (
    SELECT id, status IN ('failed', 'quarantined', 'completed', 'cancelled') AS inactive
    FROM reelstate.jobs WHERE id IN (SELECT job_id FROM due) ORDER BY id FOR SHARE
)
UPDATE reelstate.tasks t
SET status = CASE WHEN parents.inactive THEN 'new' ELSE 'ready' END, run_after = NULL,
    ready_at = CASE WHEN parents.inactive THEN NULL ELSE clock.now END,
    version = t.version + CASE WHEN parents.inactive AND t.status = 'new' THEN 0 ELSE 1 END,
    actor = 'orchestrator', reason = NULL, changed_at = clock.now
FROM due JOIN parents ON parents.id = due.job_id, clock
WHERE t.job_id = due.job_id AND t.stage = due.stage AND t.part = due.part
RETURNING t.status, t.job_id, due.origin
