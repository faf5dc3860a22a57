-- Move a schedule past the ticks that this transaction runs; returns nothing where another has done so, or changed it.
UPDATE schedules SET next_tick = :next_tick, next_run_at = :next_run_at, version = version + 1
WHERE id = :id AND version = :version AND next_tick IS :expected AND NOT paused
RETURNING id
