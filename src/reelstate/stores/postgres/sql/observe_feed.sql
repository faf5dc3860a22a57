-- In the order of commit: only transactions older than every open one, so that no event appears behind the cursor.
-- Matches may be rare: the search ends at `until`.
SELECT e.xid::text AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM reelstate.worker_instances i WHERE i.id = e.worker_id) END AS worker,
       (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = e.job_id) AS user_id
FROM (
    SELECT * FROM reelstate.events e
    WHERE (e.xid, e.id) > (%(after_xid)s::text::xid8, %(after_id)s)
      AND (e.xid, e.id) <= (%(until_xid)s::text::xid8, %(until_id)s)
      AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
      AND (%(jobs)s::bigint[] IS NULL OR e.job_id = ANY (%(jobs)s::bigint[]))
      AND (%(user_id)s::text IS NULL
           OR %(user_id)s::text = (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = e.job_id))
    ORDER BY e.xid, e.id LIMIT %(limit)s
) AS e
{halves}
WHERE half.n = 1 OR e.entity NOT IN ('task+job', 'job+stage')
   OR (e.xid, e.id - 1) > (%(after_xid)s::text::xid8, %(after_id)s)
ORDER BY e.xid, e.id, half.n LIMIT %(limit)s
