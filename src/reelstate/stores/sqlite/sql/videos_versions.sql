-- A video's versions, the newest first.
SELECT {job_columns}, j.pipeline_id, r.removed_at
FROM jobs AS j
LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
LEFT JOIN removed_versions AS r ON r.job_id = j.id
WHERE j.resource_id = :video_id
ORDER BY j.id DESC LIMIT :limit
