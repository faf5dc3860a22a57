-- Delete the record of removed versions of the videos of a user.
WITH gone AS (
    DELETE FROM reelstate.removed_versions WHERE video_id IN (SELECT id FROM reelstate.videos WHERE user_id = %(user_id)s)
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
