-- In the order of commit, which is the order of ids with one writer at a time; the xid of a cursor is always 0.
-- Matches may be rare: the search ends at `until`.
SELECT '0' AS xid, {event_columns},
       CASE WHEN half.n = 0 THEN (SELECT i.name FROM worker_instances AS i WHERE i.id = e.worker_id) END AS worker,
       (SELECT j.user_id FROM jobs AS j WHERE j.id = e.job_id) AS user_id
FROM (
    SELECT * FROM events AS e
    WHERE e.id > :after_id AND e.id <= :until_id
      AND (:jobs IS NULL OR +e.job_id IN (SELECT value FROM json_each(:jobs)))
      AND (:user_id IS NULL OR :user_id = (SELECT j.user_id FROM jobs AS j WHERE j.id = e.job_id))
    ORDER BY e.id LIMIT :limit
) AS e
{halves}
WHERE half.n = 1 OR e.entity NOT IN ('task+job', 'job+stage') OR e.id - 1 > :after_id
ORDER BY e.id, half.n LIMIT :limit
