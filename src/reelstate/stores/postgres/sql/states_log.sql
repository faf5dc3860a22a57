-- What tasks said, whichever job it is of, in the order of commit; with it the job of the engine, and whose that is.
SELECT xid::text AS xid, l.id, o.job, (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = o.job) AS user_id, l.job_id,
       task, tag, status, severity, message, payload, schema_version, at, version, event_id
FROM reelstate.state_log l
CROSS JOIN LATERAL (
    SELECT CASE WHEN l.job_id ~ '^[0-9]{1,18}\.[a-z][a-z0-9_-]*$' THEN split_part(l.job_id, '.', 1)::bigint END AS job
) AS o
WHERE (l.xid, l.id) > (%(after_xid)s::text::xid8, %(after_id)s)
  AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
  AND (%(jobs)s::bigint[] IS NULL OR o.job = ANY (%(jobs)s::bigint[]))
  AND (%(user_id)s::text IS NULL OR %(user_id)s::text = (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = o.job))
ORDER BY l.xid, l.id LIMIT %(limit)s
