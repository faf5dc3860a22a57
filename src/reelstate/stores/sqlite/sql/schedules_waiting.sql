-- The schedules with a queued run and no active job that are not paused.
SELECT {schedule_columns}, :now AS at
FROM schedules
WHERE NOT paused AND id IN (SELECT r.schedule_id FROM schedule_runs AS r WHERE r.outcome = 'queued')
  AND NOT EXISTS (SELECT 1 FROM schedule_runs AS a JOIN jobs AS j ON j.id = a.job_id
                  WHERE a.schedule_id = schedules.id AND a.active AND j.status IN (SELECT value FROM json_each(:statuses)))
ORDER BY id LIMIT :limit
