-- The names of worker instances; they are kept when an instance is pruned.
SELECT id, name FROM worker_instances WHERE id IN (SELECT value FROM json_each(:ids))
