INSERT INTO reelstate.tasks AS t (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after,
        flag_after, lease, stall_after, timeout, status, run_after, ready_at, changed_at, actor, input, sole)
    SELECT parts.job_id, %(stage)s, parts.part,
           %(lane)s + CASE WHEN EXISTS (
               SELECT FROM reelstate.limits m WHERE m.removed_at IS NULL AND (m.pipeline IS NULL OR m.pipeline = (
                   SELECT l.pipeline FROM reelstate.lanes l WHERE l.id = %(lane)s))) THEN 268435456 ELSE 0 END,
           %(priority)s, %(attempts)s, %(max_lost)s, %(isolate_after)s,
           %(flag_after)s, %(lease)s, %(stall_after)s, %(timeout)s, CASE WHEN %(delay)s > 0 THEN 'new' ELSE 'ready' END,
           CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END,
           CASE WHEN %(delay)s > 0 THEN NULL ELSE clock.now END, clock.now, 'orchestrator', parts.input, parts.sole
    FROM parts CROSS JOIN clock
