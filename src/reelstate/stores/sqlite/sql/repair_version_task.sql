UPDATE tasks SET version = :version WHERE job_id = :id AND stage = :stage AND part = :part
