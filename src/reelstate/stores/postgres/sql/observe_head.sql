-- The feed: its epoch, where it stands now, which is behind every transaction older than each open one, and up to where
-- it is not kept any more.
SELECT f.value AS epoch, (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text AS xid,
       9223372036854775807 AS id, (SELECT k.value FROM reelstate.facts k WHERE k.name = 'floor') AS floor
FROM reelstate.facts f WHERE f.name = 'epoch'
