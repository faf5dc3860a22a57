-- The states of the tasks of one job of the engine, in the order of commit. The index orders each stage by itself, so
-- `limit` rows are read of each.
SELECT l.xid::text AS xid, l.id, j.id AS job, j.user_id, l.job_id, l.task, l.tag, l.status, l.severity, l.message, l.payload, l.schema_version,
       l.at, l.version, l.event_id, l.generation
FROM reelstate.jobs j
JOIN reelstate.pipelines p ON p.id = j.pipeline_id
CROSS JOIN jsonb_array_elements(p.graph -> 'stages') AS stage
JOIN reelstate.state_jobs k ON k.job_id = j.id || '.' || (stage ->> 'name')
CROSS JOIN LATERAL (
    SELECT * FROM reelstate.state_log s
    WHERE s.job_id = k.job_id AND s.generation = k.generation
      AND (s.xid, s.id) > (%(after_xid)s::text::xid8, %(after_id)s)
      AND s.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY s.xid, s.id LIMIT %(limit)s
) AS l
WHERE j.id = %(job_id)s
ORDER BY l.xid, l.id LIMIT %(limit)s
