SELECT pipeline_id FROM reelstate.jobs WHERE id = %(job_id)s
