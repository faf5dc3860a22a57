-- The first to need a secret makes it.
INSERT INTO reelstate.secrets (name, secret) VALUES (%(name)s, %(secret)s) ON CONFLICT (name) DO NOTHING
