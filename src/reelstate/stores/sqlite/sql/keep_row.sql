INSERT INTO keeper (singleton) VALUES (1) ON CONFLICT (singleton) DO NOTHING
