-- The log of the current generation of a job after a cursor, and the position up to which it was deleted. It is in the order of
-- commit: only transactions older than every open one, so nothing can appear behind the cursor.
SELECT j.floor_xid::text AS floor_xid, j.floor_id, l.xid::text AS xid, l.id, l.job_id, l.task, l.tag, l.status, l.severity, l.message, l.payload, l.schema_version, l.at,
       l.version, l.event_id, l.generation
FROM reelstate.state_jobs j
LEFT JOIN LATERAL (
    SELECT * FROM reelstate.state_log s
    WHERE s.job_id = j.job_id AND s.generation = j.generation AND j.deleted_at IS NULL
      AND (s.xid, s.id) > (%(after_xid)s::text::xid8, %(after_id)s)
      AND s.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY s.xid, s.id LIMIT %(limit)s
) AS l ON true
WHERE j.job_id = %(job_id)s
ORDER BY l.xid, l.id
