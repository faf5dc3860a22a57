-- Write every field of a schedule whose version is the one that was read.
UPDATE schedules
SET pipeline = :pipeline, spec = :spec, priority = :priority, timing = :timing, timezone = :timezone, overlap = :overlap,
    catch_up = :catch_up, catch_up_window = :catch_up_window, jitter = :jitter, paused = :paused, note = :note,
    starts_at = :starts_at, ends_at = :ends_at, next_tick = :next_tick, next_run_at = :next_run_at,
    version = version + 1, actor = :actor, changed_at = :now
WHERE id = :id AND version = :version
RETURNING {schedule_columns}
