-- Set the callback of a group; the newest one given counts.
UPDATE groups SET callback_url = :url, callback_lane = :lane,
    callback_id = (SELECT w.id FROM webhooks AS w WHERE w.kind = 'callback' AND w.user_id = groups.user_id)
WHERE id = :id
