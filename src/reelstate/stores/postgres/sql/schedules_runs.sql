-- The runs of a schedule, newest first.
SELECT {run_columns}
FROM reelstate.schedule_runs r LEFT JOIN reelstate.jobs j ON j.id = r.job_id
WHERE r.schedule_id = %(id)s ORDER BY r.at DESC, r.tick DESC LIMIT %(limit)s
