INSERT INTO tasks AS t (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after, flag_after, lease,
    stall_after, timeout, status, run_after, ready_at, changed_at, actor, input, sole)
SELECT parts.job_id, :stage, parts.part,
       :lane + CASE WHEN EXISTS (
           SELECT 1 FROM limits AS m WHERE m.removed_at IS NULL AND (m.pipeline IS NULL OR m.pipeline = (
               SELECT l.pipeline FROM lanes AS l WHERE l.id = :lane))) THEN 268435456 ELSE 0 END,
       :priority, :attempts, :max_lost, :isolate_after, :flag_after, :lease,
       :stall_after, :timeout, CASE WHEN :delay > 0 THEN 'new' ELSE 'ready' END,
       CASE WHEN :delay > 0 THEN :now + :delay END, CASE WHEN :delay > 0 THEN NULL ELSE :now END, :now, 'orchestrator',
       parts.input, parts.sole
FROM parts
