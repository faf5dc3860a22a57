-- In the order of commit: only transactions older than every open one, so nothing can appear behind the cursor.
SELECT xid::text AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token,
       data, at
FROM reelstate.events
WHERE (events.xid, events.id) > (%(after_xid)s::text::xid8, %(after_id)s)
  AND events.xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY events.xid, events.id LIMIT %(limit)s
