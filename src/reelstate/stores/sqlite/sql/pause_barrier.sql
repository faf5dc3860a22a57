-- Differs from PostgreSQL: a write transaction has the database to itself, so no claim is under way.
SELECT id FROM workers WHERE status <> 'offline' ORDER BY id
