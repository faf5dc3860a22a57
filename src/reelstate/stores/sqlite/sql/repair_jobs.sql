WITH given (id, status, inconsistent) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
UPDATE jobs
SET status = given.status, inconsistent = coalesce(given.inconsistent, jobs.inconsistent),
    finished_at = CASE WHEN given.status IN ('completed', 'failed', 'quarantined', 'cancelled')
                       THEN max(coalesce(jobs.finished_at, :now), coalesce(jobs.started_at, 0)) END,
    version = version + 1, actor = 'doctor', reason = :reason, changed_at = :now
FROM given
WHERE jobs.id = given.id
RETURNING id, version, status
