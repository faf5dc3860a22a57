-- The workers that ran these tasks last, and whether they hold any task now.
WITH given (job_id, stage, part) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
SELECT i.id, i.name,
       EXISTS (SELECT 1 FROM tasks AS held WHERE held.status = 'running' AND held.worker_id = i.id) AS busy
FROM worker_instances AS i
WHERE i.id IN (
    SELECT t.last_worker
    FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part)
