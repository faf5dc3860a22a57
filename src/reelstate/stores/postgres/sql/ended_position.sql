-- Keep up to where jobs that wait for ended jobs were made due; the next transaction continues there.
UPDATE reelstate.ended_jobs SET position = %(position)s WHERE id = ANY (%(ids)s::bigint[])
