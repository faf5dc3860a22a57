-- First the tasks, then the job: the order in which every transaction takes them.
SELECT count(*) FROM (
    SELECT FROM reelstate.tasks
    WHERE job_id = ANY (%(job_ids)s::bigint[]) AND status NOT IN ('done', 'skipped', 'cancelled')
    ORDER BY job_id, stage, part FOR UPDATE
) AS locked
