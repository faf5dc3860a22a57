-- Insert one task per element of an array, or per index below a number.
WITH given AS (
    SELECT CASE WHEN %(source)s < 0
                THEN (SELECT spec FROM reelstate.jobs WHERE id = %(job_id)s)
                ELSE (SELECT result FROM reelstate.tasks
                      WHERE job_id = %(job_id)s AND stage = %(source)s AND part = 0)
           END #> %(path)s::text[] AS items
), parts AS (
    SELECT position - 1 AS part, element
    FROM given, jsonb_array_elements(CASE WHEN jsonb_typeof(items) = 'array' THEN items ELSE '[]' END)
         WITH ORDINALITY AS elements (element, position)
    UNION ALL
    SELECT part, to_jsonb(part)
    FROM given, generate_series(0, CASE WHEN jsonb_typeof(items) = 'number' THEN items::integer ELSE 0 END - 1) AS part
)
INSERT INTO reelstate.tasks AS t (job_id, stage, part, lane, priority, max_attempts, max_lost, isolate_after,
    flag_after, lease, stall_after,
    timeout, status, run_after, ready_at, changed_at, actor, input)
SELECT %(job_id)s, %(stage)s, part, %(lane)s, %(priority)s, %(attempts)s, %(max_lost)s, %(isolate_after)s,
       %(flag_after)s, %(lease)s, %(stall_after)s,
       %(timeout)s, CASE WHEN %(delay)s > 0 THEN 'new' ELSE 'ready' END,
       CASE WHEN %(delay)s > 0 THEN clock.now + make_interval(secs => %(delay)s) END,
       CASE WHEN %(delay)s > 0 THEN NULL ELSE clock.now END, clock.now, 'orchestrator', element
FROM parts, (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
ON CONFLICT (job_id, stage, part) DO UPDATE
SET status = 'ready', ready_at = excluded.changed_at, run_after = NULL, input = excluded.input, lane = sign(t.lane) * excluded.lane,
    max_attempts = greatest(t.max_attempts, t.attempt + excluded.max_attempts),
    version = t.version + 1, actor = 'orchestrator', reason = NULL, changed_at = excluded.changed_at
WHERE t.status = 'new'
