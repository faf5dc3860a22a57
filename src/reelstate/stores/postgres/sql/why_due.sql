-- The tasks of stages of a job that wait for a time: `new` for a delayed first run, `error` for the next attempt. The next
-- one of each stage and status, and their number up to `cap`. `part` selects one task.
SELECT wanted.stage, kind.status, next.part, next.run_after, next.attempt, next.max_attempts, next.error, next.reason,
       next.run_after <= clock.now AS due, extract(epoch FROM next.run_after - clock.now)::float8 AS seconds, counted.tasks
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN unnest(%(stages)s::smallint[]) AS wanted (stage)
CROSS JOIN (VALUES ('new'), ('error')) AS kind (status)
CROSS JOIN LATERAL (
    SELECT t.part, t.run_after, t.attempt, t.max_attempts, t.error, t.reason FROM reelstate.tasks t
    WHERE t.job_id = %(job_id)s AND t.stage = wanted.stage AND t.status = kind.status AND t.run_after IS NOT NULL
      AND (%(part)s::integer IS NULL OR t.part = %(part)s::integer)
    ORDER BY t.run_after LIMIT 1
) AS next
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks FROM (
        SELECT FROM reelstate.tasks t
        WHERE t.job_id = %(job_id)s AND t.stage = wanted.stage AND t.status = kind.status AND t.run_after IS NOT NULL
          AND (%(part)s::integer IS NULL OR t.part = %(part)s::integer)
        LIMIT %(cap)s
    ) AS head
) AS counted
ORDER BY wanted.stage, kind.status DESC
