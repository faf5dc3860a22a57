-- The schedules with a tick to run, the most overdue first, and the time of the store.
SELECT {schedule_columns}, coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
FROM reelstate.schedules
WHERE next_run_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) AND NOT paused
ORDER BY next_run_at LIMIT %(limit)s
