-- Lock the tasks before their jobs, as every transaction does.
SELECT count(*) AS tasks FROM (
    SELECT FROM reelstate.tasks
    WHERE job_id = ANY (%(job_ids)s::bigint[]) AND status NOT IN ('done', 'skipped', 'cancelled')
    ORDER BY job_id, stage, part FOR UPDATE
) AS locked
