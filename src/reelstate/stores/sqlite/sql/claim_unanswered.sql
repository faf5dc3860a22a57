-- What a claim has leased to this worker whose answer never came: all that was claimed since its last answer,
-- the newest first: by its time the worker knows next time what it has been told.
SELECT job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint,
       NULL AS pipeline_id, NULL AS spec, NULL AS job_status, claimed_at AS at, 1 AS fit
FROM tasks
WHERE status = 'running' AND worker_id = :worker_id AND claimed_at > :since
ORDER BY claimed_at DESC
