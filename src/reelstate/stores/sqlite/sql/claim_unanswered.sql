-- Tasks leased to this worker since its last answered claim, the newest first: the answer to their claim was lost.
SELECT job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint,
       NULL AS pipeline_id, NULL AS spec, NULL AS job_status, claimed_at AS at, 1 AS fit,
       NULL AS waited, NULL AS begun, NULL AS trace, 0 AS parks, 0 AS limited
FROM tasks
WHERE status = 'running' AND worker_id = :worker_id AND claimed_at > :since
ORDER BY claimed_at DESC
