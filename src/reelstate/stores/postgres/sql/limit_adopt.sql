-- Count running tasks in other keys: the ones before are subtracted as those of a task that has ended.
WITH adopted AS (
    UPDATE reelstate.tasks t SET queue = given.queue
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[], %(queue)s::integer[],
                %(before)s::integer[]) AS given (job_id, stage, part, token, queue, before)
    WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part AND t.token = given.token
      AND t.status = 'running' AND t.queue IS NOT DISTINCT FROM given.before
    RETURNING t.queue, given.before
), ended AS (
    INSERT INTO reelstate.limit_ended (queue) SELECT before FROM adopted WHERE before IS NOT NULL
)
SELECT queue FROM adopted
