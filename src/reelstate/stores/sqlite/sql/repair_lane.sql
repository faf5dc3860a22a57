-- A ready task waits in another lane; one that runs alone stays so.
UPDATE tasks SET lane = CASE WHEN lane < 0 THEN -:lane ELSE :lane END
WHERE job_id = :job_id AND stage = :stage AND part = :part AND status = 'ready'
