UPDATE jobs SET suspect = :suspect WHERE id = :job_id
