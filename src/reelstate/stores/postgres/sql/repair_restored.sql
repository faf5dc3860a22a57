-- The events keep their order by id, before every later transaction; the new epoch invalidates all cursors.
WITH renumbered AS (
    UPDATE reelstate.events SET xid = '1' WHERE set_config('reelstate.archiving', 'on', true) = 'on'
)
UPDATE reelstate.facts SET value = substr(md5(random()::text || clock_timestamp()::text), 1, 12) WHERE name = 'epoch'
