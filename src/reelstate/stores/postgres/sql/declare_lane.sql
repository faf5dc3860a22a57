WITH made AS (
    INSERT INTO reelstate.lanes (pipeline, needs, prefers)
    VALUES (%(pipeline)s, %(needs)s::text[], %(prefers)s::text[])
    ON CONFLICT (pipeline, needs, prefers) DO NOTHING
    RETURNING id
)
SELECT id FROM made
UNION ALL
SELECT id FROM reelstate.lanes
WHERE pipeline = %(pipeline)s AND needs = %(needs)s::text[] AND prefers = %(prefers)s::text[]
