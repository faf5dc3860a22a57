-- In the order of commit: only transactions older than every open one, so nothing can appear behind the cursor.
SELECT xid::text AS xid, id, job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id
FROM reelstate.state_log
WHERE job_id = %(job_id)s AND generation = %(generation)s
  AND (state_log.xid, state_log.id) > (%(after_xid)s::text::xid8, %(after_id)s)
  AND state_log.xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY state_log.xid, state_log.id LIMIT %(limit)s
