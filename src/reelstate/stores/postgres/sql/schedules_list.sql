SELECT {schedule_columns}
FROM reelstate.schedules
WHERE (%(owner)s::text IS NULL OR user_id = %(owner)s) AND (%(name)s::text IS NULL OR name = %(name)s)
ORDER BY name
