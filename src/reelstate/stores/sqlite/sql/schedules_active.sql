-- The active jobs of a schedule. Runs whose jobs are inactive are not looked at again.
UPDATE schedule_runs SET active = 0
WHERE schedule_id = :id AND active
  AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = schedule_runs.job_id
                  AND j.status IN (SELECT value FROM json_each(:statuses)));
SELECT job_id AS id FROM schedule_runs WHERE schedule_id = :id AND active ORDER BY job_id
