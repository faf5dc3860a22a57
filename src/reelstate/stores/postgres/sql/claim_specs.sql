SELECT id, pipeline_id, spec FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[])
