SELECT job_id, tasks, tags, generation FROM reelstate.state_jobs WHERE job_id = %(job_id)s AND deleted_at IS NULL
