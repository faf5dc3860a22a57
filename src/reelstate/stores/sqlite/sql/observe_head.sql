-- Where the feed stands now. Events and states are numbered together.
SELECT '0' AS xid, coalesce(max(seq), 0) AS id FROM sqlite_sequence WHERE name = 'events'
