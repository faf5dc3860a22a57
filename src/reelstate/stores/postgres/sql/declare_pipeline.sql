-- The update changes nothing; it makes the row of a process that declares the same at this moment visible, which DO
-- NOTHING would not. The time is that of the first declaration.
INSERT INTO reelstate.pipelines AS p (name, digest, graph, declared_at)
VALUES (%(name)s, %(digest)s, %(graph)s::jsonb, coalesce(%(now)s::timestamptz, clock_timestamp()))
ON CONFLICT (name, digest) DO UPDATE SET name = p.name
RETURNING id
