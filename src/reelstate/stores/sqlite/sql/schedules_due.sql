-- The schedules with a tick to run, the most overdue first, and the time of the store.
SELECT {schedule_columns}, :now AS at
FROM schedules
WHERE next_run_at <= :now AND NOT paused
ORDER BY next_run_at LIMIT :limit
