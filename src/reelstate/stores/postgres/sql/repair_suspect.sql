UPDATE reelstate.jobs SET suspect = %(suspect)s WHERE id = %(job_id)s
