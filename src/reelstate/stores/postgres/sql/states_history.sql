-- What the tasks of one job of the engine said, in the order of commit.
SELECT xid::text AS xid, l.id, l.job_id, task, tag, status, severity, message, payload, schema_version, at, version,
       event_id
FROM reelstate.state_log l
WHERE l.job_id IN (
    SELECT j.id || '.' || (stage ->> 'name')
    FROM reelstate.jobs j JOIN reelstate.pipelines p ON p.id = j.pipeline_id,
         jsonb_array_elements(p.graph -> 'stages') AS stage
    WHERE j.id = %(job_id)s)
  AND (l.xid, l.id) > (%(after_xid)s::text::xid8, %(after_id)s)
  AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY l.xid, l.id LIMIT %(limit)s
