-- In the order of commit, which is the order of ids where there is one writer at a time: the cursor's xid is always 0.
SELECT '0' AS xid, id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token, data, at
FROM events
WHERE id > :after_id
ORDER BY id LIMIT :limit
