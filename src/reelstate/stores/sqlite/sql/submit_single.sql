-- Insert jobs that differ in their id and spec only, of a pipeline whose only first stage has one part: the job, the
-- stage and the task.
WITH given (id, spec) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec)
SELECT id, :pipeline_id, :user_id, :phase, :priority, 'user', CASE WHEN :delay > 0 THEN :now + :delay END, :now, :now,
       spec
FROM given;

INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT json_extract(value, '$[0]'), :stage, 1, :sole, :now FROM json_each(:rows);

INSERT INTO tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after, flag_after, lease,
    stall_after, timeout,
    status, run_after, ready_at, changed_at, actor)
SELECT json_extract(value, '$[0]'), :stage, 0, :lane, :priority, :attempts, :max_lost, :isolate_after, :flag_after,
       :lease, :stall_after, :timeout,
       CASE WHEN :delay > 0 THEN 'new' ELSE 'ready' END, CASE WHEN :delay > 0 THEN :now + :delay END,
       CASE WHEN :delay > 0 THEN NULL ELSE :now END, :now, 'orchestrator'
FROM json_each(:rows)
