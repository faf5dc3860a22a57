-- Insert one task per element of an array, or per index below a number.
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
), parts (job_id, part, input, sole) AS (
    SELECT :job_id, element.key,
           CASE element.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'
                WHEN 'text' THEN json_quote(element.value) WHEN 'real' THEN printf('%!.17g', element.value)
                ELSE element.value END, 0
    FROM items CROSS JOIN json_each(items.value) AS element
    WHERE items.type = 'array'
    UNION ALL
    SELECT :job_id, number, number, 0
    FROM items CROSS JOIN (
        WITH RECURSIVE numbers (number) AS (
            SELECT 0 UNION ALL SELECT number + 1 FROM numbers, items
            WHERE items.type IN ('integer', 'real') AND number < items.value - 1)
        SELECT number FROM numbers)
    WHERE items.type IN ('integer', 'real') AND number < items.value
)
{insert_tasks}
WHERE true
ON CONFLICT (job_id, stage, part) DO UPDATE
SET status = 'ready', ready_at = excluded.changed_at, run_after = NULL, input = excluded.input,
    lane = CASE WHEN t.lane < 0 THEN -excluded.lane ELSE excluded.lane END,
    max_attempts = max(t.max_attempts, t.attempt + excluded.max_attempts),
    version = t.version + 1, actor = 'orchestrator', reason = NULL, changed_at = excluded.changed_at
WHERE t.status = 'new'
