-- The events of one job, or of one stage of it, in the order of the feed: a page costs its own rows, and those of the first
-- 1,000 parts of each stage, which are sorted. The events of later parts are read in order, by an index of their own. The
-- job is selected there by a range: with an equality the planner may read all events and skip those of other jobs.
-- A row with two events belongs to two entities: a job is also looked for at its only task, its only stage at the job.
SELECT e.xid::text AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = e.worker_id) END AS worker,
       NULL::text AS user_id
FROM (
    (SELECT b.* FROM reelstate.events b
     WHERE (b.job_id, b.xid, b.id) > (%(job_id)s::bigint, %(after_xid)s::text::xid8, %(after_id)s::bigint)
       AND b.job_id <= %(job_id)s::bigint AND b.part >= 1000
       AND b.xid < pg_snapshot_xmin(pg_current_snapshot())
       AND (%(stage)s::smallint IS NULL OR b.stage = %(stage)s::smallint)
       AND (%(part)s::integer IS NULL OR b.part = %(part)s::integer)
     ORDER BY b.job_id, b.xid, b.id LIMIT %(limit)s)
    UNION ALL
    (SELECT f.* FROM generate_series(-1, (SELECT max(m.stage) FROM reelstate.events m WHERE m.job_id = %(job_id)s)) AS s (stage)
     CROSS JOIN LATERAL (
         SELECT * FROM reelstate.events l
         WHERE l.job_id = %(job_id)s::bigint AND l.stage = s.stage::smallint AND l.part < 1000
           AND (l.xid, l.id) > (%(after_xid)s::text::xid8, %(after_id)s)
           AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
         OFFSET 0) AS f
     WHERE (%(stage)s::smallint IS NULL OR s.stage = %(stage)s::smallint
            OR f.entity IN ('task+job', 'job+stage') AND s.stage = -1 - %(stage)s::smallint)
       AND (%(part)s::integer IS NULL OR f.part = %(part)s::integer)
     ORDER BY f.xid, f.id LIMIT %(limit)s)
) AS e
{halves}
WHERE (%(stage)s::smallint IS NULL
       OR %(stage)s::smallint = CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END)
  AND (half.n = 1 OR e.entity NOT IN ('task+job', 'job+stage')
       OR (e.xid, e.id - 1) > (%(after_xid)s::text::xid8, %(after_id)s))
  AND (%(owner)s::text IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = %(job_id)s AND j.user_id = %(owner)s::text))
ORDER BY e.xid, e.id, half.n LIMIT %(limit)s
