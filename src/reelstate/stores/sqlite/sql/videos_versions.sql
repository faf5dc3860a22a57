-- A video's versions, the newest first.
SELECT j.id, p.name, p.digest, j.user_id, j.status, j.phase, j.priority, j.spec, j.run_after, j.error, j.degraded,
       j.suspect, j.version, j.actor, j.reason, j.created_at, j.started_at, j.changed_at, j.finished_at, j.video_id,
       j.pipeline_id, r.removed_at
FROM jobs AS j
JOIN pipelines AS p ON p.id = j.pipeline_id
LEFT JOIN removed_versions AS r ON r.job_id = j.id
WHERE j.video_id = :video_id
ORDER BY j.id DESC LIMIT :limit
