-- See declare_pipeline.
INSERT INTO reelstate.lanes AS l (pipeline, needs, prefers)
VALUES (%(pipeline)s, %(needs)s::text[], %(prefers)s::text[])
ON CONFLICT (pipeline, needs, prefers) DO UPDATE SET pipeline = l.pipeline
RETURNING id
