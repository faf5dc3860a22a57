-- The position `window` events before the newest; none if there are fewer events after the given position.
SELECT e.xid::text AS xid, e.id FROM reelstate.events e
WHERE (e.xid, e.id) > (%(after_xid)s::text::xid8, %(after_id)s) AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY e.xid DESC, e.id DESC OFFSET %(window)s LIMIT 1
