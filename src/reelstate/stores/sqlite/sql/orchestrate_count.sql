-- The number of parts of a fan-out; null where its path does not exist, or leads to no array and no whole number.
-- Differs from PostgreSQL: without #> the path is walked key by key; `type` tells JSON from text that is not.
WITH RECURSIVE walk (depth, type, value) AS (
    SELECT 0, json_type(document), document
    FROM (SELECT CASE WHEN :source < 0
                      THEN (SELECT spec FROM jobs WHERE id = :job_id)
                      ELSE (SELECT result FROM tasks WHERE job_id = :job_id AND stage = :source AND part = 0)
                 END AS document)
    UNION ALL
    SELECT walk.depth + 1, child.type, child.value
    FROM walk CROSS JOIN json_each(CASE WHEN walk.type IN ('object', 'array') THEN walk.value ELSE '[]' END) AS child
    WHERE CAST(child.key AS TEXT) = json_extract(:path, '$[' || walk.depth || ']')
), items AS MATERIALIZED (
    SELECT type, value FROM walk WHERE depth = json_array_length(:path)
)
SELECT CASE WHEN type = 'array' THEN json_array_length(value)
            WHEN type IN ('integer', 'real') AND value BETWEEN 0 AND 10000000 AND value = CAST(value AS INTEGER)
            THEN CAST(value AS INTEGER) END AS total
FROM (SELECT 1) LEFT JOIN items ON true
