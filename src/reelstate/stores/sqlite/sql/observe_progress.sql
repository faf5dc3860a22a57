-- The progress of running tasks: of all, or of those that may have reported since a time.
SELECT t.job_id, stage, part, token, percent, message, step, coalesce(progress_at, claimed_at) AS progress_at,
       (SELECT j.user_id FROM jobs AS j WHERE j.id = t.job_id) AS user_id
FROM tasks AS t INDEXED BY tasks_running
WHERE status = 'running'
  AND (:jobs IS NULL OR t.job_id IN (SELECT value FROM json_each(:jobs)))
  AND (:since IS NULL OR progress_at > :since)
