-- Why a report was not accepted: the task as it is, and the event that ended the run under this token.
WITH given (job_id, stage, part, token) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
SELECT given.job_id, given.stage, given.part, t.token, t.status, e.target, e.actor, given.token AS asked
FROM given
LEFT JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
LEFT JOIN events AS e
    ON e.job_id = given.job_id AND e.stage = given.stage AND e.part = given.part AND e.token = given.token
       AND e.origin = 'running' AND e.target <> 'running'
