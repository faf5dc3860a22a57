-- The position `window` rows after the cursor, in events or in states, whichever comes first.
SELECT edge.xid::text AS xid, edge.id
FROM (
    (SELECT e.xid, e.id FROM reelstate.events e
     WHERE (e.xid, e.id) > (%(after_xid)s::text::xid8, %(after_id)s)
     ORDER BY e.xid, e.id OFFSET %(window)s - 1 LIMIT 1)
    UNION ALL
    (SELECT l.xid, l.id FROM reelstate.state_log l
     WHERE (l.xid, l.id) > (%(after_xid)s::text::xid8, %(after_id)s)
     ORDER BY l.xid, l.id OFFSET %(window)s - 1 LIMIT 1)
) AS edge
ORDER BY edge.xid, edge.id LIMIT 1
