-- Differs from PostgreSQL: nothing is locked, because the transaction has the database to itself.
SELECT id, pipeline_id, status, phase, priority, version, max(0.0, coalesce(run_after - :now, 0.0)) AS delay,
       :now - changed_at AS in_state, :now - created_at AS age, trace
FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids)) ORDER BY id
