-- The first process that needs the secret creates it.
INSERT INTO secrets (name, secret, created_at) VALUES (:name, :secret, :now) ON CONFLICT (name) DO NOTHING
