-- Jobs that are older than the given versions. Differs from PostgreSQL: the transaction has the only lock.
WITH given (id, version) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows))
SELECT j.id FROM jobs AS j JOIN given USING (id)
WHERE j.version < given.version
ORDER BY j.id
