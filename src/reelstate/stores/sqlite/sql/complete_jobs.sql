-- Complete jobs whose only stage has closed without a failure.
UPDATE jobs
SET status = 'completed', finished_at = max(:now, coalesce(started_at, :now)), version = version + 1, actor = 'orchestrator', reason = NULL,
    changed_at = :now
WHERE id IN (SELECT value FROM json_each(:job_ids))
  AND status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
RETURNING phase, :now - coalesce(started_at, created_at) AS in_state, :now - created_at AS age,
          id AS job_id, pipeline_id, trace
