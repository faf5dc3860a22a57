-- Differs from PostgreSQL: a write transaction has the database to itself.
SELECT '' AS locked
