-- Complete jobs whose only stage has closed without a failure.
UPDATE reelstate.jobs j
SET status = 'completed', finished_at = greatest(clock.now, j.started_at), version = j.version + 1, actor = 'orchestrator', reason = NULL,
    changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE j.id = ANY (%(job_ids)s::bigint[])
  AND (j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')) IS TRUE
RETURNING j.phase, extract(epoch FROM clock.now - coalesce(j.started_at, j.created_at))::float8 AS in_state,
          extract(epoch FROM clock.now - j.created_at)::float8 AS age, j.id AS job_id, j.pipeline_id, j.trace
