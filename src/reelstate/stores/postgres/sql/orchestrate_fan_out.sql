-- Insert one task per element of an array, or per index below a number.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), given AS (
    SELECT CASE WHEN %(source)s < 0
                THEN (SELECT spec FROM reelstate.jobs WHERE id = %(job_id)s)
                ELSE (SELECT result FROM reelstate.tasks
                      WHERE job_id = %(job_id)s AND stage = %(source)s AND part = 0)
           END #> %(path)s::text[] AS items
), parts AS (
    SELECT %(job_id)s::bigint AS job_id, position - 1 AS part, element AS input, false AS sole
    FROM given, jsonb_array_elements(CASE WHEN jsonb_typeof(items) = 'array' THEN items ELSE '[]' END)
         WITH ORDINALITY AS elements (element, position)
    UNION ALL
    SELECT %(job_id)s::bigint, part, to_jsonb(part), false
    FROM given, generate_series(0, CASE WHEN jsonb_typeof(items) = 'number' THEN items::integer ELSE 0 END - 1) AS part
)
{insert_tasks}
ON CONFLICT (job_id, stage, part) DO UPDATE
SET status = 'ready', ready_at = excluded.changed_at, run_after = NULL, input = excluded.input, lane = sign(t.lane) * excluded.lane,
    max_attempts = greatest(t.max_attempts, t.attempt + excluded.max_attempts),
    version = t.version + 1, actor = 'orchestrator', reason = NULL, changed_at = excluded.changed_at
WHERE t.status = 'new'
