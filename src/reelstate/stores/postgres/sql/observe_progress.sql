-- The progress of running tasks: of all, or of those that may have reported since a time.
SELECT t.job_id, stage, part, token, percent, message, step, coalesce(progress_at, claimed_at) AS progress_at,
       (SELECT j.user_id FROM reelstate.jobs j WHERE j.id = t.job_id) AS user_id
FROM reelstate.tasks t
WHERE worker_id IS NOT NULL AND status = 'running'
  AND (%(jobs)s::bigint[] IS NULL OR t.job_id = ANY (%(jobs)s::bigint[]))
  AND (%(since)s::timestamptz IS NULL OR progress_at > %(since)s::timestamptz)
