-- Accepted while the task runs under the same token, even after expiry: the row lock orders it against reclaim.
-- Rows are locked in the order of the input, which the caller sorts, by a nested loop over it.
-- The totals of the workers change in the same statement, each once and in the order of their ids; so do the counters of
-- stages and, where a sole task has ended, the job: one event records both. Workers are locked before stages, as by
-- `fail`: the counters wait for the totals by reading their number.
-- Returns the accepted tasks, but none where all of the input is accepted; the stages that have closed; and one row for
-- all: how many tasks were accepted, and the jobs that completed. A job that could not be completed here is in `left`:
-- it is not active, pending again, or one of `degraded`, whose result lists what is missing.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now, set_config('reelstate.recorded', 'on', true) AS recorded
), moved AS (
    UPDATE reelstate.tasks t
    SET status = %(status)s, result = given.result::jsonb, percent = 100, error = NULL, worker_id = NULL,
        lease_expires_at = NULL, finished_at = greatest(clock.now, t.started_at), version = t.version + 1,
        actor = 'worker', reason = NULL, changed_at = clock.now
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
                %(result)s::text[]) AS given (job_id, stage, part, token, result)
    CROSS JOIN clock
    WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
      AND t.token = given.token AND t.status = 'running'
    RETURNING t.job_id, t.stage, t.part, t.token, t.last_worker, t.version, t.sole
), workers AS (
    UPDATE reelstate.worker_instances i SET done = i.done + counted.number
    FROM (SELECT last_worker, count(*) AS number FROM moved GROUP BY last_worker ORDER BY last_worker) AS counted
    WHERE i.id = counted.last_worker
    RETURNING i.id
), counted AS (
    UPDATE reelstate.stages s
    SET done = s.done + CASE WHEN %(status)s = 'done' THEN ended.number ELSE 0 END,
        skipped = s.skipped + CASE WHEN %(status)s = 'done' THEN 0 ELSE ended.number END
    FROM (SELECT job_id, stage, count(*) AS number FROM moved WHERE NOT sole AND (SELECT count(*) FROM workers) >= 0
          GROUP BY job_id, stage ORDER BY job_id, stage) AS ended
    WHERE s.job_id = ended.job_id AND s.stage = ended.stage
    RETURNING s.job_id, s.stage, s.total, s.done, s.skipped, s.failed, s.sole
), completed AS (
    UPDATE reelstate.jobs j
    SET status = 'completed', finished_at = greatest(clock.now, j.started_at), version = j.version + 1,
        actor = 'orchestrator', reason = NULL, changed_at = clock.now
    FROM moved CROSS JOIN clock
    WHERE moved.sole AND j.id = moved.job_id AND j.status = j.phase AND j.id <> ALL (%(degraded)s::bigint[])
    RETURNING moved.*, j.version AS job_version, j.phase,
              extract(epoch FROM clock.now - coalesce(j.started_at, j.created_at))::float8 AS in_state,
              extract(epoch FROM clock.now - j.created_at)::float8 AS age, j.pipeline_id, j.trace
), alone AS MATERIALIZED (
    SELECT * FROM moved
    WHERE NOT sole
       OR (SELECT count(*) FROM completed) < (SELECT count(*) FROM moved WHERE sole)
          AND job_id <> ALL (ARRAY(SELECT job_id FROM completed))
), recorded AS (
    INSERT INTO reelstate.events (entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor,
        job_version, job_origin, job_target)
    SELECT 'task+job', job_id, stage, part, last_worker, version, token, clock.now, 'running', %(status)s::text, 'worker',
           job_version, phase, 'completed'
    FROM completed CROSS JOIN clock
    UNION ALL
    SELECT 'task', job_id, stage, part, last_worker, version, token, clock.now, 'running', %(status)s::text, 'worker',
           NULL, NULL, NULL
    FROM alone CROSS JOIN clock
)
SELECT 'all' AS kind, NULL::bigint AS job_id, NULL::smallint AS stage, NULL::integer AS part, NULL::bigint AS token,
       (SELECT count(*) FROM moved) AS total, (SELECT count(*) FROM completed) AS done, NULL::integer AS skipped,
       NULL::integer AS failed, NULL::boolean AS sole,
       (SELECT json_agg(json_build_array(phase, in_state, age, job_id, pipeline_id, trace)) FROM completed) AS completed
UNION ALL
SELECT 'stage', job_id, stage, NULL, NULL, total, done, skipped, failed, sole, NULL FROM counted
WHERE done + skipped + failed = total
UNION ALL
SELECT 'left', job_id, stage, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM alone WHERE sole
UNION ALL
SELECT 'task', job_id, stage, part, token, NULL, NULL, NULL, NULL, NULL, NULL FROM moved
WHERE (SELECT count(*) FROM moved) < cardinality(%(job_id)s::bigint[])
