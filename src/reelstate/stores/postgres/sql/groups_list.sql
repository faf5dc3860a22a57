-- Groups, the newest first: all, those of a user, or those of a name.
SELECT id, user_id, name, round, callback_url, created_at, finished_at
FROM reelstate.groups
WHERE id < %(before)s AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
  AND (%(name)s::text IS NULL OR name = %(name)s::text)
ORDER BY id DESC LIMIT %(limit)s
