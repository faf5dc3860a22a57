-- In the order of commit, which is the order of ids with one writer at a time; the xid of a cursor is always 0.
-- Matches may be rare: the search ends at `until`.
SELECT '0' AS xid, e.id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at,
       (SELECT i.name FROM worker_instances AS i WHERE i.id = worker_id) AS worker,
       (SELECT j.user_id FROM jobs AS j WHERE j.id = e.job_id) AS user_id
FROM events AS e
WHERE e.id > :after_id AND e.id <= :until_id
  AND (:jobs IS NULL OR +e.job_id IN (SELECT value FROM json_each(:jobs)))
  AND (:user_id IS NULL OR :user_id = (SELECT j.user_id FROM jobs AS j WHERE j.id = e.job_id))
ORDER BY e.id LIMIT :limit
