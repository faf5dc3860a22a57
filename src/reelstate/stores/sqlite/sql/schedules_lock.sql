-- Lock a schedule for a trigger or a backfill: ticks wait. (A transaction of SQLite that writes is the only one.)
SELECT {schedule_columns}
FROM schedules
WHERE name = :name AND (:owner IS NULL OR user_id = :owner)
