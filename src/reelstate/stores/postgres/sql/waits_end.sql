-- End the wait of jobs; returns those that waited until now.
UPDATE reelstate.waits SET ended_at = coalesce(%(now)s::timestamptz, clock_timestamp()), due = false
WHERE job_id = ANY (%(job_ids)s::bigint[]) AND ended_at IS NULL
RETURNING job_id
