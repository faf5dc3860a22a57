-- The states of all jobs in the order of commit, with the job of the engine and its owner.
-- OFFSET 0 makes the id of the job evaluated once per row.
SELECT logged.xid::text AS xid, logged.id, logged.job, (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = logged.job) AS user_id,
       logged.job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation
FROM (
    SELECT l.*, substring(l.job_id FROM '^([0-9]{1,18})\.[a-z][a-z0-9_-]*$')::bigint AS job
    FROM reelstate.state_log l
    WHERE (l.xid, l.id) > (%(after_xid)s::text::xid8, %(after_id)s)
      AND (l.xid, l.id) <= (%(until_xid)s::text::xid8, %(until_id)s)
      AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY l.xid, l.id OFFSET 0
) AS logged
WHERE (%(jobs)s::bigint[] IS NULL OR logged.job = ANY (%(jobs)s::bigint[]))
  AND (%(user_id)s::text IS NULL OR %(user_id)s::text = (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = logged.job))
ORDER BY logged.xid, logged.id LIMIT %(limit)s
