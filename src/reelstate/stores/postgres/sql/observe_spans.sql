-- The first and the last task of each span of a job before an end: neighbouring parts in the same state. A running task is
-- a span of its own, because its progress differs.
SELECT stage, part, is_first, is_last, status, version, attempt, max_attempts, lost, percent
FROM (
    SELECT *, lead(is_first, 1, true) OVER (PARTITION BY stage ORDER BY part) AS is_last
    FROM (
        SELECT stage, part, status, version, attempt, max_attempts, lost, round(percent::numeric, 1)::float8 AS percent,
               status = 'running' OR part - 1 IS DISTINCT FROM lag(part) OVER parts
               OR status IS DISTINCT FROM lag(status) OVER parts OR version IS DISTINCT FROM lag(version) OVER parts
               OR attempt IS DISTINCT FROM lag(attempt) OVER parts OR lost IS DISTINCT FROM lag(lost) OVER parts AS is_first
        FROM reelstate.tasks
        WHERE job_id = %(job_id)s AND (stage, part) < (%(end_stage)s, %(end_part)s)
        WINDOW parts AS (PARTITION BY stage ORDER BY part)
    ) AS firsts
) AS spans
WHERE is_first OR is_last
ORDER BY stage, part
