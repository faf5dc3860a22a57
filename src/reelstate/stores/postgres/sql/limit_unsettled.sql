SELECT id FROM reelstate.limits WHERE settled_at IS NULL ORDER BY id
