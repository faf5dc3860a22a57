SELECT value FROM reelstate.facts WHERE name = 'epoch'
