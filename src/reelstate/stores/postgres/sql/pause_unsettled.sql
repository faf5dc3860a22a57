SELECT id FROM reelstate.pauses WHERE resumed_at IS NOT NULL AND settled_at IS NULL ORDER BY id
