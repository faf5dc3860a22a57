SELECT pipeline, id, needs, prefers FROM reelstate.lanes WHERE pipeline = ANY (%(names)s::text[])
