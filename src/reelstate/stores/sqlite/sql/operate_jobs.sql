-- A job that runs again runs now, even if it was submitted with a delay.
WITH given (id, origin) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE jobs
SET status = :status, version = version + 1, actor = :actor, reason = :reason, changed_at = :now,
    run_after = CASE WHEN :status <> 'pending' THEN jobs.run_after END,
    finished_at = CASE WHEN :status <> 'pending' THEN max(:now, coalesce(jobs.started_at, :now)) END,
    error = CASE WHEN :status IN ('pending', 'completed') THEN NULL ELSE jobs.error END
FROM given
WHERE jobs.id = given.id AND jobs.status = given.origin
RETURNING id
