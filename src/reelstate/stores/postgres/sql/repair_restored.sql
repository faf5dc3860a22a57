-- The events keep their order by number, before every transaction to come; the new epoch ends all old cursors.
WITH renumbered AS (
    UPDATE reelstate.events SET xid = '1' WHERE set_config('reelstate.archiving', 'on', true) = 'on'
)
UPDATE reelstate.facts SET value = substr(md5(random()::text || clock_timestamp()::text), 1, 12) WHERE name = 'epoch'
