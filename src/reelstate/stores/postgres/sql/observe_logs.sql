-- Log lines in the order of commit. `settled` lines are of transactions older than every open one: no line can appear
-- before them any more.
SELECT l.id, l.stage, l.part, l.token, l.at, l.level, l.message, l.metadata
FROM reelstate.logs l
WHERE l.job_id = %(job_id)s
  AND (l.xid, l.id) > (coalesce((SELECT a.xid FROM reelstate.logs a WHERE a.id = %(after)s), '0'::xid8), %(after)s)
  AND (NOT %(settled)s::boolean OR l.xid < pg_snapshot_xmin(pg_current_snapshot()))
  AND (%(stage)s::smallint IS NULL OR l.stage = %(stage)s::smallint)
  AND (%(part)s::integer IS NULL OR l.part = %(part)s::integer)
  AND (%(owner)s::text IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = %(job_id)s AND j.user_id = %(owner)s::text))
ORDER BY l.xid, l.id LIMIT %(limit)s
