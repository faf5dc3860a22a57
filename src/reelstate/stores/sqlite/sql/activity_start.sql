-- The position `window` events before the newest; none if there are fewer events after the given position.
SELECT '0' AS xid, id FROM events WHERE id > :after_id ORDER BY id DESC LIMIT 1 OFFSET :window
