-- Where the last of the next so many rows of the record stands, of events or of states, if there are so many.
SELECT '0' AS xid, id
FROM (
    SELECT * FROM (SELECT id FROM events WHERE id > :after_id ORDER BY id LIMIT 1 OFFSET :window - 1)
    UNION ALL
    SELECT * FROM (SELECT id FROM state_log WHERE id > :after_id ORDER BY id LIMIT 1 OFFSET :window - 1)
)
ORDER BY id LIMIT 1
