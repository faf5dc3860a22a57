-- The jobs in which a task is due.
SELECT DISTINCT job_id FROM reelstate.tasks
WHERE run_after IS NOT NULL AND status IN ('new', 'error') AND run_after <= coalesce(%(now)s::timestamptz, clock_timestamp())
ORDER BY job_id LIMIT %(limit)s
