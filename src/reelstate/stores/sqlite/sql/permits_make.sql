-- The first to need a secret makes it.
INSERT INTO secrets (name, secret, created_at) VALUES (:name, :secret, :now) ON CONFLICT (name) DO NOTHING
