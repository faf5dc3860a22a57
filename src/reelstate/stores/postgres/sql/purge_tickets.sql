-- Delete the tickets for the videos of a user, and those that the user has taken.
WITH gone AS (
    DELETE FROM reelstate.tickets WHERE video_id IN (SELECT id FROM reelstate.videos WHERE user_id = %(user_id)s)
       OR key_id IN (SELECT id FROM reelstate.keys WHERE user_id = %(user_id)s)
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
