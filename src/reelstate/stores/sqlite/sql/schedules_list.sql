SELECT {schedule_columns}
FROM schedules
WHERE (:owner IS NULL OR user_id = :owner) AND (:name IS NULL OR name = :name)
ORDER BY name
