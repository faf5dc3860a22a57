-- Counters follow the tasks; a stage that waits to be opened again is no longer open.
UPDATE reelstate.stages s
SET open = %(open)s, done = counted.done, skipped = counted.skipped, failed = counted.failed
FROM (
    SELECT stage, count(*) FILTER (WHERE status = 'done') AS done,
           count(*) FILTER (WHERE status = 'skipped') AS skipped,
           count(*) FILTER (WHERE status = 'error' AND run_after IS NULL) AS failed
    FROM reelstate.tasks WHERE job_id = %(job_id)s AND stage = %(stage)s GROUP BY stage
) AS counted
WHERE s.job_id = %(job_id)s AND s.stage = %(stage)s
