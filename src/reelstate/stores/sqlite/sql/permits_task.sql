-- The token of the run that holds a task, or held it last.
SELECT status, token FROM tasks WHERE job_id = :job_id AND stage = :stage AND part = :part
