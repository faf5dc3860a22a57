-- Differs from PostgreSQL: RETURNING can't be part of a CTE, so these are two statements.
INSERT INTO lanes (pipeline, needs, prefers) VALUES (:pipeline, :needs, :prefers)
ON CONFLICT (pipeline, needs, prefers) DO NOTHING;
SELECT id FROM lanes WHERE pipeline = :pipeline AND needs = :needs AND prefers = :prefers
