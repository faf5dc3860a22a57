-- Renew leases and store progress. A value that differs from the stored one is progress; a repeated one only renews.
WITH given (job_id, stage, part, token, percent, message, step, checkpoint) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]'), json_extract(value, '$[7]')
    FROM json_each(:rows)
), held AS MATERIALIZED (
    SELECT t.rowid AS task, given.percent, given.message, given.step, given.checkpoint,
           CASE WHEN given.percent <> t.percent
                  OR given.message IS NOT t.message AND given.message IS NOT NULL
                  OR given.step IS NOT t.step AND given.step IS NOT NULL
                  OR given.checkpoint IS NOT NULL
                THEN :now ELSE t.progress_at END AS progress_at
    FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
    WHERE t.status = 'running' AND t.token = given.token
)
UPDATE tasks
SET percent = coalesce(held.percent, tasks.percent), message = coalesce(held.message, tasks.message),
    step = coalesce(held.step, tasks.step), checkpoint = coalesce(held.checkpoint, tasks.checkpoint),
    progress_at = held.progress_at,
    lease_expires_at = min(:now + lease, coalesce(held.progress_at + stall_after, :now + lease),
                           coalesce(claimed_at + timeout, :now + lease))
FROM held
WHERE tasks.rowid = held.task
RETURNING job_id, stage, part, token
