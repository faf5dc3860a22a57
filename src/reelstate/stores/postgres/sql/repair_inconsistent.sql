UPDATE reelstate.jobs SET inconsistent = %(inconsistent)s WHERE id = %(job_id)s
