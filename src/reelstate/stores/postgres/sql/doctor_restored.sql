-- A dump restored into another server brings transaction numbers that this one has not reached: the feed would hide
-- those events until it does.
SELECT -1 AS job_id, -1 AS stage, -1 AS part, 'restored' AS status,
       'events carry transaction numbers up to ' || xid::text || ', this server is at '
       || pg_snapshot_xmax(pg_current_snapshot())::text AS detail
FROM (SELECT xid FROM reelstate.events ORDER BY events.xid DESC, events.id DESC LIMIT 1) AS newest
WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) AND %(limit)s > 0
