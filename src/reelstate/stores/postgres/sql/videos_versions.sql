-- A video's versions, the newest first.
SELECT {job_columns}, j.pipeline_id, r.removed_at
FROM reelstate.jobs j
LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
LEFT JOIN reelstate.removed_versions r ON r.job_id = j.id
WHERE j.resource_id = %(video_id)s
ORDER BY j.id DESC LIMIT %(limit)s
