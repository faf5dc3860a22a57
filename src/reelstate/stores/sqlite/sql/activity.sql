-- What happened between two positions of the log, by minute and user: jobs and attempts that finished, and claims by how
-- long the task had been ready.
-- `wait` is the number of bounds (in seconds) that the wait of a claim reaches.
SELECT CAST(happened.at / 60 AS INTEGER) AS minute, coalesce(j.user_id, '') AS user_id,
       (SELECT count(*) FROM json_each(:bounds) AS bound WHERE happened.waited >= bound.value) AS wait,
       count(*) FILTER (WHERE happened.waited IS NOT NULL) AS claims,
       count(*) FILTER (WHERE happened.job = 'completed') AS completed,
       count(*) FILTER (WHERE happened.job IN ('failed', 'quarantined')) AS failed,
       count(*) FILTER (WHERE happened.task = 'done') AS attempts_done,
       count(*) FILTER (WHERE happened.task = 'error') AS attempts_failed
FROM (
    SELECT e.at, e.job_id, CASE WHEN e.entity IN ('task', 'task+job') AND e.origin = 'running' THEN e.target END AS task,
           CASE WHEN e.entity = 'job' THEN e.target ELSE e.job_target END AS job,
           CASE WHEN e.entity IN ('task', 'task+job') AND e.target = 'running' THEN (
               SELECT max(0.0, e.at - t.ready_at) FROM tasks AS t
               WHERE t.job_id = e.job_id AND t.stage = e.stage AND t.part = e.part AND t.token = e.token) END AS waited
    FROM events AS e
    WHERE e.id > :after_id AND e.id <= :until_id
) AS happened
LEFT JOIN jobs AS j ON j.id = happened.job_id
WHERE happened.waited IS NOT NULL OR happened.job IN ('completed', 'failed', 'quarantined') OR happened.task IN ('done', 'error')
GROUP BY 1, 2, 3
