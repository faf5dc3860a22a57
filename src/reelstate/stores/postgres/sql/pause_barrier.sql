-- Wait for the claims under way: each holds the row of its worker. Claims that begin later see the pause.
SELECT id FROM reelstate.workers WHERE status <> 'offline' ORDER BY id FOR NO KEY UPDATE
