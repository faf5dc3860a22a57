-- The time is that of the first declaration.
-- Differs from PostgreSQL: RETURNING can't be part of a CTE, so these are two statements.
INSERT INTO pipelines (name, digest, graph, declared_at) VALUES (:name, :digest, :graph, :now)
ON CONFLICT (name, digest) DO NOTHING;
SELECT id FROM pipelines WHERE name = :name AND digest = :digest
