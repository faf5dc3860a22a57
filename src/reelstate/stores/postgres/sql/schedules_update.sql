-- Write every field of a schedule whose version is the one that was read.
UPDATE reelstate.schedules
SET pipeline = %(pipeline)s, spec = %(spec)s::jsonb, priority = %(priority)s, timing = %(timing)s,
    timezone = %(timezone)s, overlap = %(overlap)s, catch_up = %(catch_up)s, catch_up_window = %(catch_up_window)s,
    jitter = %(jitter)s, paused = %(paused)s, note = %(note)s, starts_at = %(starts_at)s::timestamptz,
    ends_at = %(ends_at)s::timestamptz, next_tick = %(next_tick)s::timestamptz,
    next_run_at = %(next_run_at)s::timestamptz, version = version + 1, actor = %(actor)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE id = %(id)s AND version = %(version)s
RETURNING {schedule_columns}
