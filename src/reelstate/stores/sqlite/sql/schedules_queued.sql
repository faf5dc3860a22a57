-- The queued runs of a schedule, oldest first.
SELECT {run_columns}
FROM schedule_runs AS r LEFT JOIN jobs AS j ON j.id = r.job_id
WHERE r.schedule_id = :id AND r.outcome = 'queued' ORDER BY r.tick LIMIT :limit
