-- The tasks of stages of a job that wait for a time: `new` for a delayed first run, `error` for the next attempt. The next
-- one of each stage and status, and their number up to `cap`. `part` selects one task.
-- Differs from PostgreSQL: without LATERAL the next task is found by its rowid.
WITH kind (status) AS (
    VALUES ('new'), ('error')
), probe AS MATERIALIZED (
    SELECT wanted.value AS stage, kind.status FROM json_each(:stages) AS wanted CROSS JOIN kind
)
SELECT probe.stage, probe.status, t.part, t.run_after, t.attempt, t.max_attempts, t.error, t.reason, t.run_after <= :now AS due,
       t.run_after - :now AS seconds, (
           SELECT count(*) FROM (
               SELECT 1 FROM tasks AS c INDEXED BY tasks_waiting
               WHERE c.job_id = :job_id AND c.stage = probe.stage AND c.status = probe.status AND c.run_after IS NOT NULL
                 AND (:part IS NULL OR c.part = :part)
               LIMIT :cap)) AS tasks
FROM probe CROSS JOIN tasks AS t
WHERE t.rowid = (
    SELECT r.rowid FROM tasks AS r INDEXED BY tasks_waiting
    WHERE r.job_id = :job_id AND r.stage = probe.stage AND r.status = probe.status AND r.run_after IS NOT NULL
      AND (:part IS NULL OR r.part = :part)
    ORDER BY r.run_after LIMIT 1)
ORDER BY probe.stage, probe.status DESC
