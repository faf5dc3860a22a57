-- Lock a schedule for a trigger or a backfill: ticks wait.
SELECT {schedule_columns}
FROM reelstate.schedules
WHERE name = %(name)s AND (%(owner)s::text IS NULL OR user_id = %(owner)s) FOR UPDATE
