-- The events of a job itself (stage and part -1), of a stage (part -1) or of a task: few, which are then sorted.
-- A row with two events belongs to two entities: a job is also looked for at its only task, its only stage at the job.
SELECT e.xid::text AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = e.worker_id) END AS worker,
       NULL::text AS user_id
FROM (
    SELECT * FROM reelstate.events o
    WHERE o.job_id = %(job_id)s AND o.stage = %(stage)s AND o.part = %(part)s
    UNION ALL
    SELECT * FROM reelstate.events p
    WHERE %(part)s = -1 AND p.job_id = %(job_id)s AND p.stage = -1 - %(stage)s::smallint
      AND p.part = -1 - %(stage)s::integer AND p.entity IN ('task+job', 'job+stage')
) AS e
{halves}
WHERE %(stage)s = CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END
  AND %(part)s = CASE WHEN half.n = 0 THEN e.part ELSE -1 END
  AND (e.xid, e.id - CASE WHEN half.n = 0 AND e.entity IN ('task+job', 'job+stage') THEN 1 ELSE 0 END)
      > (%(after_xid)s::text::xid8, %(after_id)s)
  AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
  AND (%(owner)s::text IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = %(job_id)s AND j.user_id = %(owner)s::text))
ORDER BY e.xid, e.id, half.n LIMIT %(limit)s
