-- Create the groups that new jobs join, or begin the next round of those that have finished.
WITH given (id, user_id, name, jobs) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]') FROM json_each(:rows)
)
INSERT INTO groups AS g (id, user_id, name, jobs, created_at)
SELECT id, user_id, name, jobs, :now FROM given
WHERE true
ON CONFLICT (user_id, name) DO UPDATE
SET jobs = g.jobs + excluded.jobs, finished_at = NULL,
    round = g.round + CASE WHEN g.finished_at IS NULL THEN 0 ELSE 1 END
RETURNING id, user_id, name, jobs
