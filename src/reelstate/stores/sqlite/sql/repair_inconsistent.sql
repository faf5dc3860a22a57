UPDATE jobs SET inconsistent = :inconsistent WHERE id = :job_id
