-- What `overview_attention` reads, among the newest jobs of a user, up to a limit of jobs.
SELECT CASE WHEN status = 'quarantined' THEN 'quarantined' WHEN flagged IS NOT NULL THEN 'flagged' ELSE 'failed' END AS kind,
       id AS job_id, coalesce(CASE WHEN flagged IS NOT NULL THEN flagged_at END, changed_at) AS at,
       coalesce(flagged, error -> 'cause' ->> 'message', error ->> 'message', reason) AS message
FROM (SELECT id, status, flagged, flagged_at, changed_at, error, reason FROM reelstate.jobs
      WHERE user_id = %(owner)s AND user_id <> '' ORDER BY id DESC LIMIT %(limit)s) AS newest
WHERE status = 'quarantined' OR flagged IS NOT NULL
   OR status = 'failed'
      AND changed_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(recent)s)
ORDER BY id DESC LIMIT %(rows)s
