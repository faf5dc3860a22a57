-- The groups of a user by their names.
SELECT id, name FROM reelstate.groups WHERE user_id = %(user_id)s AND name = ANY (%(names)s::text[])
