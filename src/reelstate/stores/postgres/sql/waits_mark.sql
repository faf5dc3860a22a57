-- Set whether the keeper must look at waiting jobs.
UPDATE reelstate.waits SET due = %(due)s WHERE job_id = ANY (%(job_ids)s::bigint[]) AND ended_at IS NULL AND due <> %(due)s
