-- The names of worker instances; they are kept when an instance is pruned.
SELECT id, name FROM reelstate.worker_instances WHERE id = ANY (%(ids)s::bigint[])
