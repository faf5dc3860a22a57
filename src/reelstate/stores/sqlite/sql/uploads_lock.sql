-- Differs from PostgreSQL: a write transaction has the database to itself.
SELECT :user_id AS locked
