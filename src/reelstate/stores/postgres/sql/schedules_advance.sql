-- Move a schedule past the ticks that this transaction runs; returns nothing where another has done so, or changed it.
UPDATE reelstate.schedules
SET next_tick = %(next_tick)s::timestamptz, next_run_at = %(next_run_at)s::timestamptz, version = version + 1
WHERE id = %(id)s AND version = %(version)s AND next_tick IS NOT DISTINCT FROM %(expected)s::timestamptz AND NOT paused
RETURNING id
