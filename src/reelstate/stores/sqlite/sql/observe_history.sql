-- The events of one job, or of one stage of it, in the order of the feed: a page costs its own rows, and those of the first
-- 1,000 parts of each stage, which are sorted. The events of later parts are read in order, by an index of their own.
-- Reading in the order of ids, which the planner may prefer because of the limit, would pass the events of all other jobs.
-- A row with two events belongs to two entities: a job is also looked for at its only task, its only stage at the job.
WITH RECURSIVE stages_of (stage) AS (
    SELECT -1
    UNION ALL
    SELECT stage + 1 FROM stages_of
    WHERE stage < (SELECT max(m.stage) FROM events AS m INDEXED BY events_by_entity WHERE m.job_id = :job_id)
)
SELECT '0' AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM worker_instances AS i WHERE i.id = e.worker_id) END AS worker,
       NULL AS user_id
FROM (
    SELECT * FROM (
        SELECT b.id FROM events AS b INDEXED BY events_by_job
        WHERE b.job_id = :job_id AND b.part >= 1000 AND b.id > :after_id
          AND (:stage IS NULL OR b.stage = :stage) AND (:part IS NULL OR b.part = :part)
        ORDER BY b.id LIMIT :limit)
    UNION ALL
    SELECT * FROM (
        SELECT l.id FROM events AS l INDEXED BY events_by_entity
        WHERE l.job_id = :job_id AND l.stage IN (SELECT s.stage FROM stages_of AS s)
          AND l.part < 1000 AND l.id > :after_id
          AND (:stage IS NULL OR l.stage = :stage
               OR l.entity IN ('task+job', 'job+stage') AND l.stage = -1 - :stage)
          AND (:part IS NULL OR l.part = :part)
        ORDER BY l.id LIMIT :limit)
) AS found
JOIN events AS e ON e.id = found.id
{halves}
WHERE (:stage IS NULL
       OR :stage = CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END)
  AND (half.n = 1 OR e.entity NOT IN ('task+job', 'job+stage') OR e.id - 1 > :after_id)
  AND (:owner IS NULL OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.user_id = :owner))
ORDER BY e.id, half.n LIMIT :limit
