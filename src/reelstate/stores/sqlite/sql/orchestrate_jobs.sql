WITH given (id, origin, status, phase, actor, reason, error, degraded) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]'), json_extract(value, '$[7]')
    FROM json_each(:rows)
)
UPDATE jobs
SET status = given.status, phase = given.phase, version = version + 1, actor = given.actor, reason = given.reason,
    changed_at = :now, error = coalesce(given.error, jobs.error), degraded = coalesce(given.degraded, jobs.degraded),
    finished_at = CASE WHEN given.status IN ('completed', 'failed', 'quarantined') THEN max(:now, coalesce(jobs.started_at, :now)) END
FROM given
WHERE jobs.id = given.id AND jobs.status = given.origin
