-- Delete what jobs have waited for, with the jobs.
WITH gone AS (
    DELETE FROM reelstate.dependencies WHERE job_id = ANY (%(job_ids)s::bigint[])
)
DELETE FROM reelstate.waits WHERE job_id = ANY (%(job_ids)s::bigint[])
