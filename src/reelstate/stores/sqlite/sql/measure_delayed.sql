-- Tasks that wait for their time, counted up to a limit.
SELECT count(*) AS tasks FROM (SELECT 1 FROM tasks INDEXED BY tasks_due WHERE run_after IS NOT NULL LIMIT :limit)
