-- The jobs in which a task is due.
SELECT DISTINCT job_id FROM tasks INDEXED BY tasks_due
WHERE run_after IS NOT NULL AND status IN ('new', 'error') AND run_after <= :now
ORDER BY job_id LIMIT :limit
