UPDATE reelstate.tasks SET version = %(version)s WHERE job_id = %(id)s AND stage = %(stage)s AND part = %(part)s
