-- The workers that ran these tasks last, and whether they hold any task now.
SELECT i.id, i.name, EXISTS (SELECT FROM reelstate.tasks held WHERE held.worker_id = i.id) AS busy
FROM reelstate.worker_instances i
WHERE i.id IN (
    SELECT t.last_worker
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]) AS given (job_id, stage, part)
    JOIN reelstate.tasks t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part)
