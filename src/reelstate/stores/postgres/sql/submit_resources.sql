SELECT id, resource_id FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[])
