INSERT INTO reelstate.keeper (one) VALUES (true) ON CONFLICT (one) DO NOTHING
