-- Of these jobs, those of one user: who may change no others does not even lock them.
SELECT id FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[]) AND user_id = %(owner)s ORDER BY id
