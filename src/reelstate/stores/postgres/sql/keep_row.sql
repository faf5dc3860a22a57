INSERT INTO reelstate.keeper (singleton) VALUES (true) ON CONFLICT (singleton) DO NOTHING
