-- Make due tasks ready; a due task of an inactive job goes back to `new`.
WITH due AS MATERIALIZED (
    SELECT t.task, j.status IN ('failed', 'quarantined', 'completed', 'cancelled') AS inactive
    FROM (SELECT rowid AS task, job_id FROM tasks INDEXED BY tasks_due
          WHERE run_after IS NOT NULL AND status IN ('new', 'error') AND run_after <= :now
            AND (:only IS NULL OR job_id IN (SELECT value FROM json_each(:only)))
            AND job_id NOT IN (SELECT value FROM json_each(:without))
          ORDER BY run_after LIMIT :limit) AS t
    JOIN jobs AS j ON j.id = t.job_id
)
UPDATE tasks
SET status = CASE WHEN due.inactive THEN 'new' ELSE 'ready' END, run_after = NULL,
    ready_at = CASE WHEN due.inactive THEN NULL ELSE :now END,
    version = version + CASE WHEN due.inactive AND tasks.status = 'new' THEN 0 ELSE 1 END,
    actor = 'orchestrator', reason = NULL, changed_at = :now
FROM due
WHERE tasks.rowid = due.task
RETURNING status, job_id, CASE WHEN attempt > 0 THEN 'error' ELSE 'new' END AS origin
