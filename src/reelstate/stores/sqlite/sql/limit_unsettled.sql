SELECT id FROM limits WHERE settled_at IS NULL ORDER BY id
