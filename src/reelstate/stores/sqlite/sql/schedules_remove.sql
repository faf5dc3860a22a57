DELETE FROM schedule_runs WHERE schedule_id IN (
    SELECT id FROM schedules WHERE name = :name AND (:owner IS NULL OR user_id = :owner));
DELETE FROM schedules WHERE name = :name AND (:owner IS NULL OR user_id = :owner)
RETURNING id
