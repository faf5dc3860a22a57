-- Delete the schedules of a user and their runs.
WITH removed AS (
    DELETE FROM reelstate.schedules WHERE user_id = %(user_id)s RETURNING id
), gone AS (
    DELETE FROM reelstate.schedule_runs r USING removed WHERE r.schedule_id = removed.id
)
SELECT count(*) AS rows FROM removed
