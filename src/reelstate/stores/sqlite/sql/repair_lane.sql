-- Move a ready task to another lane; an isolated task stays isolated. Where there are limits, it arrives again.
UPDATE tasks
SET lane = CASE WHEN lane < 0 THEN -1 ELSE 1 END * (:lane
    + CASE WHEN EXISTS (SELECT 1 FROM limits WHERE removed_at IS NULL) THEN 268435456 ELSE 0 END)
WHERE job_id = :job_id AND stage = :stage AND part = :part AND status = 'ready'
