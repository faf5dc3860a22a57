-- Inserts nothing where the name is taken, or the user has `most` schedules already.
INSERT INTO schedules (id, name, pipeline, spec, priority, user_id, timing, timezone, overlap, catch_up, catch_up_window,
    jitter, starts_at, ends_at, next_tick, next_run_at, actor, created_at, changed_at)
SELECT :id, :name, :pipeline, :spec, :priority, :user_id, :timing, :timezone, :overlap, :catch_up, :catch_up_window,
       :jitter, :starts_at, :ends_at, :next_tick, :next_run_at, :actor, :now, :now
WHERE (SELECT count(*) FROM schedules WHERE user_id = :user_id) < :most
ON CONFLICT DO NOTHING
