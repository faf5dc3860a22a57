-- The ids of keys; those that are new are added.
-- Differs from PostgreSQL: RETURNING can't be part of a CTE, so these are two statements.
WITH given (limit_id, key) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO limit_keys (limit_id, key) SELECT DISTINCT limit_id, key FROM given WHERE true
ON CONFLICT (limit_id, key) DO NOTHING;
SELECT DISTINCT k.id, k.limit_id, k.key
FROM json_each(:rows) AS given CROSS JOIN limit_keys AS k
    ON k.limit_id = json_extract(given.value, '$[0]') AND k.key = json_extract(given.value, '$[1]')
