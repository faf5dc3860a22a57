-- A video's versions, the newest first.
SELECT j.id, coalesce(p.name, '#' || j.pipeline_id) AS pipeline, coalesce(p.digest, '') AS digest, j.user_id, j.status, j.phase, j.priority, j.spec, j.run_after, j.error, j.degraded,
       j.inconsistent, j.flagged, j.flagged_at, j.version, j.actor, j.reason, j.created_at, j.started_at, j.changed_at, j.finished_at,
       j.resource_id,
       j.pipeline_id, r.removed_at
FROM jobs AS j
LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
LEFT JOIN removed_versions AS r ON r.job_id = j.id
WHERE j.resource_id = :video_id
ORDER BY j.id DESC LIMIT :limit
