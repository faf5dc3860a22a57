WITH removed AS (
    DELETE FROM reelstate.schedules WHERE name = %(name)s AND (%(owner)s::text IS NULL OR user_id = %(owner)s)
    RETURNING id
), forgotten AS (
    DELETE FROM reelstate.schedule_runs r USING removed WHERE r.schedule_id = removed.id
)
SELECT id FROM removed
