-- The results of a job's one-part stages: its plan.
SELECT stage, result FROM tasks
WHERE job_id = :job_id AND stage IN (SELECT value FROM json_each(:stages)) AND part = 0 AND status = 'done'
  AND result IS NOT NULL
ORDER BY stage
