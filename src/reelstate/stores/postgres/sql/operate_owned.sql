-- The jobs among these that belong to a user; the others are not even locked.
SELECT id FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[]) AND user_id = %(owner)s ORDER BY id
