SELECT pipeline_id FROM jobs WHERE id = :job_id AND (:owner IS NULL OR user_id = :owner)
