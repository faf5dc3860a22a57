-- The events of one job, or of one entity in it. The second event of a row may be of another entity than the first: a job
-- is also looked for at the first part of its first stage, and a stage at its job.
SELECT e.xid::text AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = e.worker_id) END AS worker,
       NULL::text AS user_id
FROM reelstate.events e
{halves}
WHERE e.job_id = %(job_id)s
  AND (%(stage)s::smallint IS NULL OR e.stage IN (%(stage)s::smallint, CASE WHEN %(stage)s::smallint < 0 THEN 0 ELSE -1 END)
       AND %(stage)s::smallint = CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END)
  AND (%(part)s::integer IS NULL OR e.part IN (%(part)s::integer, CASE WHEN %(part)s::integer < 0 THEN 0 ELSE -1 END)
       AND %(part)s::integer = CASE WHEN half.n = 0 THEN e.part ELSE -1 END)
  AND (e.xid, e.id) > (%(after_xid)s::text::xid8, %(after_id)s)
  AND (half.n = 1 OR e.entity NOT IN ('task+job', 'job+stage')
       OR (e.xid, e.id - 1) > (%(after_xid)s::text::xid8, %(after_id)s))
  AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
  AND (%(owner)s::text IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = %(job_id)s AND j.user_id = %(owner)s::text))
ORDER BY e.xid, e.id, half.n LIMIT %(limit)s
