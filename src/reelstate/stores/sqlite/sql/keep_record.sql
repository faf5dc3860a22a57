-- Write each change of the findings as an event. The keeper's row counts them, so that the versions have no gap.
-- Differs from PostgreSQL: a CTE can't write, so these are two statements.
UPDATE keeper SET findings = findings + json_array_length(:rows);
WITH given (number, origin, target, reason, data) AS (
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
INSERT INTO events (entity, version, origin, target, actor, reason, data, at)
SELECT 'finding', keeper.findings - json_array_length(:rows) + 1 + given.number, origin, target, 'keeper', reason, data,
       :now
FROM keeper, given ORDER BY given.number
