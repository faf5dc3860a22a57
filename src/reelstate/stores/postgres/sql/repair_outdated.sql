-- Lock jobs that are older than the given versions.
SELECT j.id FROM reelstate.jobs j JOIN unnest(%(id)s::bigint[], %(version)s::integer[]) AS given (id, version) USING (id)
WHERE j.version < given.version
ORDER BY j.id FOR UPDATE OF j
