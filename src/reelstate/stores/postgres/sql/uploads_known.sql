SELECT id FROM reelstate.uploads WHERE id = ANY (%(ids)s::text[])
