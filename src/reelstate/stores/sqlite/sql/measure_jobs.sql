-- The number of jobs in each status, each counted up to a limit.
SELECT given.value AS status, (SELECT count(*) FROM (
    SELECT 1 FROM jobs AS j WHERE j.status = given.value AND j.status <> 'completed' LIMIT :limit)) AS jobs
FROM json_each(:statuses) AS given
