-- Recompute counters from the tasks; `open` is false for a stage that waits to be opened again, null to leave it.
UPDATE reelstate.stages s
SET open = coalesce(given.open, s.open), total = counted.total, done = counted.done, skipped = counted.skipped,
    failed = counted.failed
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(open)s::boolean[]) AS given (job_id, stage, open)
CROSS JOIN LATERAL (
    SELECT count(*) AS total, count(*) FILTER (WHERE status = 'done') AS done,
           count(*) FILTER (WHERE status = 'skipped') AS skipped,
           count(*) FILTER (WHERE status = 'error' AND run_after IS NULL) AS failed
    FROM reelstate.tasks t WHERE t.job_id = given.job_id AND t.stage = given.stage
) AS counted
WHERE s.job_id = given.job_id AND s.stage = given.stage
