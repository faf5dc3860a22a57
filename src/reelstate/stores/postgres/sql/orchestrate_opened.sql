-- The stages that jobs have opened, and for how many seconds: read for jobs of a trace only.
SELECT job_id, stage, open, total, done, skipped, failed,
       extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - opened_at)::float8 AS age
FROM reelstate.opened_stages WHERE job_id = ANY (%(job_ids)s::bigint[]) ORDER BY job_id, stage
