-- Delete the keys, sessions and codes of a user.
WITH gone AS (
    DELETE FROM reelstate.keys WHERE user_id = %(user_id)s
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
