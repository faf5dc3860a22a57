SELECT {job_columns}, j.pipeline_id
FROM jobs AS j LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE j.id = :job_id AND (:owner IS NULL OR j.user_id = :owner)
