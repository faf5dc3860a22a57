-- Finished parts of a stage run again from the beginning: at once, or (`target` is new) when the stages before it are
-- done.
UPDATE tasks
SET status = :target, ready_at = CASE WHEN :target = 'ready' THEN :now END, finished_at = NULL,
    run_after = NULL, max_attempts = attempt + :attempts, lost_alone = 0, percent = 0, checkpoint = NULL, result = NULL, step = NULL,
    message = NULL, error = NULL,
    version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE job_id = :job_id AND stage = :stage AND part BETWEEN :first AND :last
  AND (status IN ('done', 'skipped', 'error') OR :target = 'new' AND status = 'ready')
RETURNING part
