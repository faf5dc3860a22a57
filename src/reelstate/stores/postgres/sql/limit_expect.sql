-- Admitted tasks whose starts are counted: each counts from now on, until the period after its start has passed.
INSERT INTO reelstate.limit_starts (key, job_id, stage, part)
SELECT key, job_id, stage, part
FROM unnest(%(key)s::bigint[], %(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]) AS given (key, job_id, stage, part)
