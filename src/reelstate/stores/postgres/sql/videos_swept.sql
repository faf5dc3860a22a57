UPDATE reelstate.removed_versions SET swept_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE job_id = ANY (%(job_ids)s::bigint[]) AND swept_at IS NULL
