id, name, pipeline, spec, priority, user_id, timing, timezone, overlap, catch_up, catch_up_window, jitter, paused, note,
       starts_at, ends_at, next_tick, next_run_at, version, actor, created_at, changed_at
