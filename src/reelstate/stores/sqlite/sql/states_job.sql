SELECT job_id, tasks, tags, generation FROM state_jobs WHERE job_id = :job_id AND deleted_at IS NULL
