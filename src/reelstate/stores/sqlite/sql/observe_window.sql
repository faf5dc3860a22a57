-- The position `window` rows after the cursor, in events or in states, whichever comes first.
SELECT '0' AS xid, id
FROM (
    SELECT * FROM (SELECT id FROM events WHERE id > :after_id ORDER BY id LIMIT 1 OFFSET :window - 1)
    UNION ALL
    SELECT * FROM (SELECT id FROM state_log WHERE id > :after_id ORDER BY id LIMIT 1 OFFSET :window - 1)
)
ORDER BY id LIMIT 1
