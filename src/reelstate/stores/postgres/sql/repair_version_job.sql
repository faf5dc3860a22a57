UPDATE reelstate.jobs SET version = %(version)s WHERE id = %(id)s AND %(stage)s = -1 AND %(part)s = -1
