-- The schedules with a queued run and no active job that are not paused.
SELECT {schedule_columns}, coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
FROM reelstate.schedules
WHERE NOT paused AND id IN (SELECT r.schedule_id FROM reelstate.schedule_runs r WHERE r.outcome = 'queued')
  AND NOT EXISTS (SELECT FROM reelstate.schedule_runs a JOIN reelstate.jobs j ON j.id = a.job_id
                  WHERE a.schedule_id = schedules.id AND a.active AND j.status = ANY (%(statuses)s::text[]))
ORDER BY id LIMIT %(limit)s
