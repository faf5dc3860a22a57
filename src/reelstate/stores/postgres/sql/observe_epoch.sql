SELECT value AS epoch FROM reelstate.facts WHERE name = 'epoch'
