-- The feed: its epoch, its head (events and states are numbered together), and the
-- positions up to which states were deleted, and events were archived.
SELECT f.value AS epoch, '0' AS xid, (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events') AS id,
       (SELECT k.value FROM facts AS k WHERE k.name = 'floor') AS floor,
       (SELECT k.value FROM facts AS k WHERE k.name = 'events_floor') AS events_floor
FROM facts AS f WHERE f.name = 'epoch'
