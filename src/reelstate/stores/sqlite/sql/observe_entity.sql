-- The events of a job itself (stage and part -1), of a stage (part -1) or of a task: few, which are then sorted.
-- A row with two events belongs to two entities: a job is also looked for at its only task, its only stage at the job.
SELECT '0' AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM worker_instances AS i WHERE i.id = e.worker_id) END AS worker,
       NULL AS user_id
FROM (
    SELECT * FROM events AS o INDEXED BY events_by_entity
    WHERE o.job_id = :job_id AND o.stage = :stage AND o.part = :part
    UNION ALL
    SELECT * FROM events AS p INDEXED BY events_by_entity
    WHERE :part = -1 AND p.job_id = :job_id AND p.stage = -1 - :stage AND p.part = -1 - :stage
      AND p.entity IN ('task+job', 'job+stage')
) AS e
{halves}
WHERE :stage = CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END
  AND :part = CASE WHEN half.n = 0 THEN e.part ELSE -1 END
  AND e.id - CASE WHEN half.n = 0 AND e.entity IN ('task+job', 'job+stage') THEN 1 ELSE 0 END > :after_id
  AND (:owner IS NULL OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.user_id = :owner))
ORDER BY e.id, half.n LIMIT :limit
