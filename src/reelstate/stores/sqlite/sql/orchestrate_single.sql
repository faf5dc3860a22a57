-- Open a one-part stage in many jobs for the first time: insert the stage and its task.
INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT value, :stage, 1, :sole, :now FROM json_each(:job_ids);

INSERT INTO tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after, flag_after, lease,
    stall_after, timeout,
    status, run_after, ready_at, changed_at, actor)
SELECT value, :stage, 0, :lane, :priority, :attempts, :max_lost, :isolate_after, :flag_after, :lease, :stall_after,
       :timeout,
       CASE WHEN :delay > 0 THEN 'new' ELSE 'ready' END, CASE WHEN :delay > 0 THEN :now + :delay END,
       CASE WHEN :delay > 0 THEN NULL ELSE :now END, :now, 'orchestrator'
FROM json_each(:job_ids)
