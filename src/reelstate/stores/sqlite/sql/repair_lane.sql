-- Move a ready task to another lane; an isolated task stays isolated.
UPDATE tasks SET lane = CASE WHEN lane < 0 THEN -:lane ELSE :lane END
WHERE job_id = :job_id AND stage = :stage AND part = :part AND status = 'ready'
