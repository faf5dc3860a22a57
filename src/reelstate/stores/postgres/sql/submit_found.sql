SELECT id FROM reelstate.jobs WHERE request = %(request)s
