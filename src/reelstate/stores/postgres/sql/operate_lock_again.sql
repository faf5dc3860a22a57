-- Tasks that were opened between the two locks. Waiting for them now could be a deadlock, so the flow starts again.
SELECT count(*) FROM (
    SELECT FROM reelstate.tasks
    WHERE job_id = ANY (%(job_ids)s::bigint[]) AND status NOT IN ('done', 'skipped', 'cancelled')
    ORDER BY job_id, stage, part FOR UPDATE NOWAIT
) AS locked
