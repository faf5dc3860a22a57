-- Differs from PostgreSQL: nothing needs a lock here, the transaction has the database to itself.
SELECT id, pipeline_id, status, phase, priority, version, max(0.0, coalesce(run_after - :now, 0.0))
FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids)) ORDER BY id
