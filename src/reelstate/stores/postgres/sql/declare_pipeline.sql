-- The update makes the row of a process that declares the same at this moment visible; DO NOTHING would not. It also moves
-- the time: the newest graph of a name is the one that was declared last, though it be an old one.
INSERT INTO reelstate.pipelines (name, digest, graph, declared_at)
VALUES (%(name)s, %(digest)s, %(graph)s::jsonb, coalesce(%(now)s::timestamptz, clock_timestamp()))
ON CONFLICT (name, digest) DO UPDATE SET declared_at = excluded.declared_at
RETURNING id
