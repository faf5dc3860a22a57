-- Lock the tasks that were opened between the two locks. Waiting could deadlock, so a held one restarts the flow.
SELECT count(*) AS tasks FROM (
    SELECT FROM reelstate.tasks
    WHERE job_id = ANY (%(job_ids)s::bigint[]) AND status NOT IN ('done', 'skipped', 'cancelled')
    ORDER BY job_id, stage, part FOR UPDATE NOWAIT
) AS locked
