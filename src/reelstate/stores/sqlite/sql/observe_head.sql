-- The feed: its epoch, where it stands now (events and states are numbered together), and up to where it is not kept any
-- more.
SELECT f.value AS epoch, '0' AS xid, (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events') AS id,
       (SELECT k.value FROM facts AS k WHERE k.name = 'floor') AS floor
FROM facts AS f WHERE f.name = 'epoch'
