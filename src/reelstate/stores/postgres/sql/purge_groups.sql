-- Delete the groups of a user.
WITH removed AS (
    DELETE FROM reelstate.groups WHERE user_id = %(user_id)s RETURNING id
), gone AS (
    DELETE FROM reelstate.group_jobs m USING removed WHERE m.group_id = removed.id
)
SELECT count(*) AS rows FROM removed
