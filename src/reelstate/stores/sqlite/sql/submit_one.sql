-- A job of a pipeline that begins with one stage of one part: the job, the stage and the task.
-- Differs from PostgreSQL: an answer can't be lost here, so a request is never made twice.
UPDATE ids SET last = max(last, (CAST(strftime('%s', 'now') AS INTEGER) - 1735689600 << 22) - 1) + 1;

INSERT INTO jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec, request)
SELECT last, :pipeline_id, :user_id, :phase, :priority, 'user', CASE WHEN :delay > 0 THEN :now + :delay END, :now, :now,
       :spec, :request
FROM ids;

INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT last, :stage, 1, :sole, :now FROM ids;

INSERT INTO tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, lease, stall_after, timeout,
    status, run_after, ready_at, changed_at, actor)
SELECT last, :stage, 0, :lane, :priority, :attempts, :max_lost, :lease, :stall_after, :timeout,
       CASE WHEN :delay > 0 THEN 'new' ELSE 'ready' END, CASE WHEN :delay > 0 THEN :now + :delay END,
       CASE WHEN :delay > 0 THEN NULL ELSE :now END, :now, 'orchestrator'
FROM ids;

SELECT last FROM ids
