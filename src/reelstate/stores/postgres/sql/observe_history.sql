-- The events of one job, or of one entity in it.
SELECT xid::text AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at,
       (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = worker_id) AS worker, NULL::text AS user_id
FROM reelstate.events
WHERE job_id = %(job_id)s
  AND (%(stage)s::smallint IS NULL OR stage = %(stage)s::smallint)
  AND (%(part)s::integer IS NULL OR part = %(part)s::integer)
  AND (events.xid, events.id) > (%(after_xid)s::text::xid8, %(after_id)s)
  AND events.xid < pg_snapshot_xmin(pg_current_snapshot())
  AND (%(owner)s::text IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = %(job_id)s AND j.user_id = %(owner)s::text))
ORDER BY events.xid, events.id LIMIT %(limit)s
