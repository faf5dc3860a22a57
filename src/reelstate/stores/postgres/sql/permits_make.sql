-- The first process that needs the secret creates it.
INSERT INTO reelstate.secrets (name, secret) VALUES (%(name)s, %(secret)s) ON CONFLICT (name) DO NOTHING
