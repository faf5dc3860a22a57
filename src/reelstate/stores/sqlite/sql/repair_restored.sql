-- Differs from PostgreSQL: nothing is renumbered; a new epoch invalidates all cursors.
UPDATE facts SET value = lower(hex(randomblob(6))) WHERE name = 'epoch'
