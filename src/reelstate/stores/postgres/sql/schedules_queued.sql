-- The queued runs of a schedule, oldest first.
SELECT {run_columns}
FROM reelstate.schedule_runs r LEFT JOIN reelstate.jobs j ON j.id = r.job_id
WHERE r.schedule_id = %(id)s AND r.outcome = 'queued' ORDER BY r.tick LIMIT %(limit)s
