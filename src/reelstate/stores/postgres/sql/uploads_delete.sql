DELETE FROM reelstate.uploads WHERE id = %(id)s AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text) RETURNING id
