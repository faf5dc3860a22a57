WITH made AS (
    INSERT INTO reelstate.pipelines (name, digest, graph) VALUES (%(name)s, %(digest)s, %(graph)s::jsonb)
    ON CONFLICT (name, digest) DO NOTHING
    RETURNING id
)
SELECT id FROM made
UNION ALL
SELECT id FROM reelstate.pipelines WHERE name = %(name)s AND digest = %(digest)s
