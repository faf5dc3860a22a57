-- A value in the spec of a job, or in the result of a one-part stage.
-- Differs from PostgreSQL: without #> the path is walked key by key. Only arrays and objects are given.
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
)
SELECT CASE WHEN type IN ('object', 'array') THEN value END AS result
FROM (SELECT 1) LEFT JOIN walk ON depth = json_array_length(:path)
