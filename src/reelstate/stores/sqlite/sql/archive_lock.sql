-- Jobs that are still as they were selected. Differs from PostgreSQL: the transaction has the only lock.
WITH given (id, version) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows))
SELECT j.id FROM jobs AS j JOIN given USING (id)
WHERE j.version = given.version AND j.status IN ('completed', 'cancelled', 'failed', 'quarantined')
  AND NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.job_id = j.id AND t.worker_id IS NOT NULL)
ORDER BY j.id
