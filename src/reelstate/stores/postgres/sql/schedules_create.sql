-- Inserts nothing where the name is taken, or the user has `most` schedules already.
INSERT INTO reelstate.schedules (id, name, pipeline, spec, priority, user_id, timing, timezone, overlap, catch_up,
    catch_up_window, jitter, starts_at, ends_at, next_tick, next_run_at, actor, created_at, changed_at)
SELECT %(id)s, %(name)s, %(pipeline)s, %(spec)s::jsonb, %(priority)s, %(user_id)s, %(timing)s, %(timezone)s, %(overlap)s,
       %(catch_up)s, %(catch_up_window)s, %(jitter)s, %(starts_at)s::timestamptz, %(ends_at)s::timestamptz,
       %(next_tick)s::timestamptz, %(next_run_at)s::timestamptz, %(actor)s, clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE (SELECT count(*) FROM reelstate.schedules WHERE user_id = %(user_id)s) < %(most)s
ON CONFLICT DO NOTHING
