-- Differs from PostgreSQL: nothing is renumbered; a new epoch ends all old cursors.
UPDATE facts SET value = lower(hex(randomblob(6))) WHERE name = 'epoch'
