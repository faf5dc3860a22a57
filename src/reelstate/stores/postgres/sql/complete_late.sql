-- Accept results after the keeper has reclaimed their tasks, until another worker claims them: then the loss is not
-- counted.
WITH moved AS (
UPDATE reelstate.tasks t
SET status = %(status)s, result = given.result::jsonb, percent = 100, error = NULL,
    finished_at = greatest(clock.now, t.started_at), version = t.version + 1, actor = 'worker', reason = NULL,
    changed_at = clock.now,
    lane = CASE WHEN t.reason IN ('lease expired', 'worker died') AND t.lost - 1 < t.isolate_after
                THEN abs(t.lane) ELSE t.lane END,
    lost = t.lost - CASE WHEN t.reason IN ('lease expired', 'worker died') THEN 1 ELSE 0 END,
    lost_alone = t.lost_alone - CASE WHEN t.reason IN ('lease expired', 'worker died') AND t.alone THEN 1 ELSE 0 END
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
            %(result)s::text[]) AS given (job_id, stage, part, token, result),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
  AND t.token = given.token AND (t.status = 'ready') IS TRUE AND t.actor = 'keeper'
RETURNING t.job_id, t.stage, t.part, t.token, t.status, t.last_worker
), counted AS (
    UPDATE reelstate.worker_instances i SET done = i.done + counted.number
    FROM (SELECT last_worker, count(*) AS number FROM moved GROUP BY last_worker ORDER BY last_worker) AS counted
    WHERE i.id = counted.last_worker
)
SELECT job_id, stage, part, token, status FROM moved
