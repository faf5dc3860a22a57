-- The empty update makes the row of a process that declares the same at this moment visible; DO NOTHING would not.
INSERT INTO reelstate.pipelines AS p (name, digest, graph) VALUES (%(name)s, %(digest)s, %(graph)s::jsonb)
ON CONFLICT (name, digest) DO UPDATE SET name = p.name
RETURNING id
