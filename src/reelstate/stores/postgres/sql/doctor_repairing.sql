-- Until the end of this transaction, or until it is switched off, the guards are off: doctor writes its own events.
SELECT set_config('reelstate.repairing', CASE WHEN %(on)s THEN 'on' ELSE '' END, true)
