UPDATE reelstate.keeper SET leader = NULL WHERE leader = %(keeper)s
