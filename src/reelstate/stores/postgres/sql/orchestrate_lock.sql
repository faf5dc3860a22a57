SELECT id, pipeline_id, status, phase, priority, version
FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[]) ORDER BY id FOR UPDATE
