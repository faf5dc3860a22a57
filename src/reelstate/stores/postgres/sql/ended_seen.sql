-- Delete the rows of ended jobs that were looked at.
DELETE FROM reelstate.ended_jobs WHERE id = ANY (%(ids)s::bigint[])
