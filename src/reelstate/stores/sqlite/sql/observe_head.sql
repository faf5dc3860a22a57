-- Where the feed stands now.
SELECT '0' AS xid, coalesce(max(id), 0) AS id FROM events
