-- The log of the current generation of a job after a cursor, and the position up to which it was deleted. It is in the order of
-- commit, which is the order of ids where there is one writer at a time: the cursor's xid is always 0.
SELECT '0' AS floor_xid, j.floor_id, '0' AS xid, l.id, l.job_id, l.task, l.tag, l.status, l.severity, l.message, l.payload, l.schema_version, l.at,
       l.version, l.event_id, l.generation
FROM state_jobs AS j
LEFT JOIN state_log AS l
    ON l.job_id = j.job_id AND l.generation = j.generation AND j.deleted_at IS NULL AND l.id > :after_id
WHERE j.job_id = :job_id
ORDER BY l.id LIMIT :limit
