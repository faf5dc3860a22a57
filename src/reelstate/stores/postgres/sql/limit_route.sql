-- Move tasks that have arrived to their queue, or to their lane where no limit selects them.
UPDATE reelstate.tasks t
SET lane = sign(t.lane)::integer * coalesce(given.queue, abs(t.lane) - 268435456), queue = given.queue
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(queue)s::integer[])
     AS given (job_id, stage, part, queue)
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
  AND t.status = 'ready' AND abs(t.lane) BETWEEN 268435457 AND 536870911
RETURNING t.job_id, t.queue
