SELECT {job_columns}
FROM jobs AS j LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE j.id IN (SELECT value FROM json_each(:ids))
ORDER BY j.id DESC
