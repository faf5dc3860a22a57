-- Tasks leased to this worker since its last answered claim, the newest first: the answer to their claim was lost.
SELECT job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint,
       NULL::bigint AS pipeline_id, NULL::jsonb AS spec, NULL::text AS job_status, claimed_at AS at, true AS fit,
       NULL::float8 AS waited, NULL::text AS begun, NULL::text AS trace, false AS parks, false AS limited
FROM reelstate.tasks
WHERE worker_id = %(worker_id)s AND claimed_at > %(since)s
ORDER BY claimed_at DESC
