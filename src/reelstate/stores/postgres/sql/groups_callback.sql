-- Set the callback of a group; the newest one given counts.
UPDATE reelstate.groups g SET callback_id = w.id, callback_url = %(url)s, callback_lane = %(lane)s
FROM reelstate.webhooks w
WHERE g.id = %(id)s AND w.kind = 'callback' AND w.user_id = g.user_id
