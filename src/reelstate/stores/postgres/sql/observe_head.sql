-- The feed: its epoch, its head, which is the last transaction older than every open one, and the positions up to which
-- states were deleted, and events were archived.
SELECT f.value AS epoch, (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text AS xid,
       9223372036854775807 AS id, (SELECT k.value FROM reelstate.facts k WHERE k.name = 'floor') AS floor,
       (SELECT k.value FROM reelstate.facts k WHERE k.name = 'events_floor') AS events_floor
FROM reelstate.facts f WHERE f.name = 'epoch'
