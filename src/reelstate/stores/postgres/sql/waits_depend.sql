-- Store what new jobs wait for.
INSERT INTO reelstate.dependencies (job_id, kind, target)
SELECT job_id, kind, target
FROM unnest(%(job_id)s::bigint[], %(kind)s::text[], %(target)s::bigint[]) AS given (job_id, kind, target)
