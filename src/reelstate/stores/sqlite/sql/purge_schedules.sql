-- Delete the schedules of a user and their runs.
DELETE FROM schedule_runs WHERE schedule_id IN (SELECT id FROM schedules WHERE user_id = :user_id);
DELETE FROM schedules WHERE user_id = :user_id;
SELECT changes() AS rows
