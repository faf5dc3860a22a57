-- A job of a pipeline whose only first stage has one part: insert the job, the stage and the task. Inserts and returns
-- nothing where the pipeline is no longer the version that new jobs of the name run (`current` is null where the caller
-- has named a version).
-- Differs from PostgreSQL: no answer is lost here, so a request is never repeated.
UPDATE ids SET last = max(last, (CAST(strftime('%s', 'now') AS INTEGER) - 1735689600 << 22) - 1) + 1;

INSERT INTO jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec, request)
SELECT last, :pipeline_id, :user_id, :phase, :priority, 'user', CASE WHEN :delay > 0 THEN :now + :delay END, :now, :now,
       :spec, :request
FROM ids
WHERE :current IS NULL OR :pipeline_id = (
    SELECT id FROM pipelines WHERE name = :current ORDER BY pinned DESC, id DESC LIMIT 1);

INSERT INTO stages (job_id, stage, total, sole, opened_at)
SELECT last, :stage, 1, :sole, :now FROM ids
WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ids.last AND request = :request);

INSERT INTO tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after, flag_after, lease,
    stall_after, timeout,
    status, run_after, ready_at, changed_at, actor)
SELECT last, :stage, 0, :lane, :priority, :attempts, :max_lost, :isolate_after, :flag_after, :lease, :stall_after,
       :timeout,
       CASE WHEN :delay > 0 THEN 'new' ELSE 'ready' END, CASE WHEN :delay > 0 THEN :now + :delay END,
       CASE WHEN :delay > 0 THEN NULL ELSE :now END, :now, 'orchestrator'
FROM ids
WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ids.last AND request = :request);

SELECT last AS id FROM ids
WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ids.last AND request = :request)
