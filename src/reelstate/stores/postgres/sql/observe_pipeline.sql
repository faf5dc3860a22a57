SELECT pipeline_id FROM reelstate.jobs WHERE id = %(job_id)s AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
