-- Some neighbouring tasks of a stage as short values: times are milliseconds since 1970.
SELECT stage, part, status, version, last_worker, attempt, max_attempts, lost, round(percent, 1) AS percent,
       CAST(ready_at * 1000 AS INTEGER) AS ready, CAST(claimed_at * 1000 AS INTEGER) AS claimed,
       CAST(started_at * 1000 AS INTEGER) AS started, CAST(finished_at * 1000 AS INTEGER) AS finished,
       lane < 0 AS isolated
FROM tasks
WHERE job_id = :job_id AND stage = :stage AND part BETWEEN :first AND :last
ORDER BY job_id, stage, part
