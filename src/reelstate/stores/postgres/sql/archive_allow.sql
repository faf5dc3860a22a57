-- Until the end of this transaction, or until it is switched off, the guards allow rows to leave their tables.
SELECT set_config('reelstate.archiving', CASE WHEN %(on)s THEN 'on' ELSE '' END, true)
