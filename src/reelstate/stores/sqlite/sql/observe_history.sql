-- The events of one job, or of one entity in it. The index finds these few, which are then sorted: reading in the order
-- of ids, which the planner may prefer because of the limit, would pass the events of all other jobs.
-- The second event of a row may be of another entity than the first: a job is also looked for at the first part of its
-- first stage, and a stage at its job.
SELECT '0' AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM worker_instances AS i WHERE i.id = e.worker_id) END AS worker,
       NULL AS user_id
FROM events AS e INDEXED BY events_by_entity
{halves}
WHERE e.job_id = :job_id
  AND (:stage IS NULL OR e.stage IN (:stage, CASE WHEN :stage < 0 THEN 0 ELSE -1 END)
       AND :stage = CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END)
  AND (:part IS NULL OR e.part IN (:part, CASE WHEN :part < 0 THEN 0 ELSE -1 END)
       AND :part = CASE WHEN half.n = 0 THEN e.part ELSE -1 END)
  AND e.id > :after_id
  AND (half.n = 1 OR e.entity NOT IN ('task+job', 'job+stage') OR e.id - 1 > :after_id)
  AND (:owner IS NULL OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.user_id = :owner))
ORDER BY e.id, half.n LIMIT :limit
