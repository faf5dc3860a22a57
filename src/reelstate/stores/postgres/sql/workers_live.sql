SELECT count(*) FROM reelstate.workers WHERE name = %(name)s AND status <> 'offline'
