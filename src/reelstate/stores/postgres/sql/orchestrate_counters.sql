SELECT job_id, stage, open, total, done, skipped, failed
FROM reelstate.opened_stages WHERE job_id = ANY (%(job_ids)s::bigint[]) ORDER BY job_id, stage
