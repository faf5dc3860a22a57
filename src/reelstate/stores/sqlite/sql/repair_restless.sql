SELECT job_id, stage, part, status FROM tasks
WHERE job_id IN (SELECT value FROM json_each(:job_ids))
  AND (status IN ('ready', 'running') OR status = 'error' AND run_after IS NOT NULL)
