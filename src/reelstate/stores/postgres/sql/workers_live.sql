SELECT count(*) AS live FROM reelstate.workers WHERE name = %(name)s AND status <> 'offline'
