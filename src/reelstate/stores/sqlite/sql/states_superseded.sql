-- Old versions of states that a newer one follows, oldest first.
SELECT '0' AS xid, l.id FROM state_log AS l
JOIN states AS s ON s.job_id = l.job_id AND s.task = l.task AND s.tag = l.tag AND s.generation = l.generation
WHERE l.at <= :now - :older AND l.version < s.version
ORDER BY l.id LIMIT :limit
