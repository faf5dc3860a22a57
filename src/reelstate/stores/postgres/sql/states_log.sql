-- What tasks said, whichever job it is of, in the order of commit; with it the job of the engine, and whose that is.
-- OFFSET 0 has the number of the job found once a row, however often it is used.
SELECT said.xid::text AS xid, said.id, said.job, (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = said.job) AS user_id,
       said.job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation
FROM (
    SELECT l.*, substring(l.job_id FROM '^([0-9]{1,18})\.[a-z][a-z0-9_-]*$')::bigint AS job
    FROM reelstate.state_log l
    WHERE (l.xid, l.id) > (%(after_xid)s::text::xid8, %(after_id)s)
      AND (l.xid, l.id) <= (%(until_xid)s::text::xid8, %(until_id)s)
      AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY l.xid, l.id OFFSET 0
) AS said
WHERE (%(jobs)s::bigint[] IS NULL OR said.job = ANY (%(jobs)s::bigint[]))
  AND (%(user_id)s::text IS NULL OR %(user_id)s::text = (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = said.job))
ORDER BY said.xid, said.id LIMIT %(limit)s
