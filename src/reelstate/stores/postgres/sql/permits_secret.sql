SELECT secret FROM reelstate.secrets WHERE name = %(name)s
