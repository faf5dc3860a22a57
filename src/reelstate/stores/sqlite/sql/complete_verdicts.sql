-- Why a report was not accepted: the task as it is, and the event that ended the run under this token. A result may
-- arrive after the keeper has ended the run, so the last of two such events counts.
WITH given (job_id, stage, part, token) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
SELECT given.job_id, given.stage, given.part, t.token, t.status, e.target, e.actor, given.token AS asked
FROM given
LEFT JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
LEFT JOIN events AS e
    ON e.job_id = given.job_id AND e.stage = given.stage AND e.part = given.part
       AND e.version = (
           SELECT max(version) FROM events
           WHERE job_id = given.job_id AND stage = given.stage AND part = given.part AND token = given.token
             AND (origin = 'running' AND target <> 'running' OR origin = 'ready' AND target IN ('done', 'skipped')))
