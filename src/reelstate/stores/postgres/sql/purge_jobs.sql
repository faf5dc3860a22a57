-- Jobs of a user.
SELECT id FROM reelstate.jobs WHERE user_id = %(user_id)s AND user_id <> '' ORDER BY id LIMIT %(limit)s
