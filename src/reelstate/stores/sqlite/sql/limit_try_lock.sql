-- Differs from PostgreSQL: a write transaction has the database to itself.
SELECT 1 AS locked
