-- The videos of a user, deleted ones too.
SELECT id FROM reelstate.videos WHERE user_id = %(user_id)s ORDER BY id
