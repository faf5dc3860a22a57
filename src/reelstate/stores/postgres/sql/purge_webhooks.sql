-- Delete the webhooks of a user.
WITH gone AS (
    DELETE FROM reelstate.webhooks WHERE user_id = %(user_id)s
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
