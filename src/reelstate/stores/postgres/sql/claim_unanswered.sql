-- What a claim has leased to this worker whose answer never came: all that was claimed since its last answer,
-- the newest first: by its time the worker knows next time what it has been told.
SELECT job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint,
       NULL::bigint AS pipeline_id, NULL::jsonb AS spec, NULL::text AS status, claimed_at AS now, true AS fit
FROM reelstate.tasks
WHERE worker_id = %(worker_id)s AND claimed_at > %(since)s
ORDER BY claimed_at DESC
