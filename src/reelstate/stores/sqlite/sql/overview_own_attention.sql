-- What `overview_attention` reads, among the newest jobs of a user, up to a limit of jobs.
SELECT CASE WHEN status = 'quarantined' THEN 'quarantined' WHEN flagged IS NOT NULL THEN 'flagged' ELSE 'failed' END AS kind,
       id AS job_id, coalesce(CASE WHEN flagged IS NOT NULL THEN flagged_at END, changed_at) AS at,
       coalesce(flagged, CASE WHEN json_valid(error) THEN coalesce(error ->> '$.cause.message', error ->> '$.message') END,
                reason) AS message
FROM (SELECT id, status, flagged, flagged_at, changed_at, error, reason FROM jobs INDEXED BY jobs_by_user
      WHERE user_id = :owner AND user_id <> '' ORDER BY id DESC LIMIT :limit) AS newest
WHERE status = 'quarantined' OR flagged IS NOT NULL OR status = 'failed' AND changed_at > :now - :recent
ORDER BY id DESC LIMIT :rows
