-- Whose turn a task is.
SELECT status, token FROM tasks WHERE job_id = :job_id AND stage = :stage AND part = :part
