-- In the order of commit, which is the order of ids where there is one writer at a time: the cursor's xid is always 0.
SELECT '0' AS xid, id, job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id
FROM state_log
WHERE job_id = :job_id AND generation = :generation AND id > :after_id
ORDER BY id LIMIT :limit
