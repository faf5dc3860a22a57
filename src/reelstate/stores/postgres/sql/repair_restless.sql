SELECT job_id, stage, part, status FROM reelstate.tasks
WHERE job_id = ANY (%(job_ids)s::bigint[])
  AND (status IN ('ready', 'running') OR status = 'error' AND run_after IS NOT NULL)
