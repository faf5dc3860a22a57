-- The update changes nothing; unlike DO NOTHING it returns a row that another process inserts at the same time. The time is that of the first declaration.
INSERT INTO reelstate.pipelines AS p (name, digest, graph, declared_at)
VALUES (%(name)s, %(digest)s, %(graph)s::jsonb, coalesce(%(now)s::timestamptz, clock_timestamp()))
ON CONFLICT (name, digest) DO UPDATE SET name = p.name
RETURNING id
