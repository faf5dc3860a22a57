-- What a claim has leased to this worker whose answer never came: all that was claimed since its last answer.
SELECT job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint,
       NULL::bigint AS pipeline_id, NULL::jsonb AS spec, NULL::text AS status, NULL::timestamptz AS now, true AS fit
FROM reelstate.tasks
WHERE worker_id = %(worker_id)s AND claimed_at > %(since)s
