-- The runs of a schedule, newest first.
SELECT {run_columns}
FROM schedule_runs AS r LEFT JOIN jobs AS j ON j.id = r.job_id
WHERE r.schedule_id = :id ORDER BY r.at DESC, r.tick DESC LIMIT :limit
